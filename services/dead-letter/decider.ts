import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import {
  type DeadLetter,
  DeadLetterRecordedSchema,
  DeadLetterRetryRequestedSchema,
  DeadLetterSchema,
  DeadLetterSettledSchema,
  DeadLetterSkippedSchema,
} from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type { DeadLetterCommand, DeadLetterRecord } from './commands.js';
import { DEAD_LETTER_CATEGORY, deadLetterCodec, type DeadLetterEvent } from './events.js';
import { type DeadLetterState, evolveDeadLetters, initialDeadLetters, letterAt, letterKey } from './state.js';

export { letterAt, letterKey } from './state.js';

/**
 * Maximum number of dead letters of a reactor; further work that fails is retried until a letter is settled or skipped,
 * and then becomes one.
 */
export const MAX_DEAD_LETTERS = 1_000;

export type DeadLetterRefusal = { readonly kind: 'no-dead-letter' | 'dead-letters-full' };

type DeadLetterDecision = Decision<DeadLetterEvent, DeadLetterRefusal>;
type About<Type extends DeadLetterCommand['type']> = Extract<DeadLetterCommand, { readonly type: Type }>;

const NOTHING: DeadLetterDecision = { kind: 'accepted', events: [] };

const accepted = (event: DeadLetterEvent): DeadLetterDecision => ({ kind: 'accepted', events: [event] });
const refused = (kind: DeadLetterRefusal['kind']): DeadLetterDecision => ({ kind: 'refused', refusal: { kind } });

/** The letter as a message, in the event and in the list. */
export const letterMessage = (reactor: string, { sinceMs, ...letter }: DeadLetterRecord): DeadLetter => {
  const { position, stream, revision, reason, attempts, parked } = letter;
  const fields = { reactor, position, stream, revision, reason, attempts, parked };
  return create(DeadLetterSchema, { ...fields, since: timestampFromMs(sinceMs) });
};

const record = (
  { open, skipped }: DeadLetterState,
  { reactor, letter }: About<'RecordDeadLetter'>,
): DeadLetterDecision => {
  const known = open.get(letterKey(letter));
  if (known?.isRetrying === false || skipped.has(letterKey(letter))) return NOTHING;
  if (known === undefined && open.size >= MAX_DEAD_LETTERS) return refused('dead-letters-full');
  const data = create(DeadLetterRecordedSchema, { letter: letterMessage(reactor, letter) });
  return accepted({ type: 'DeadLetterRecorded', data });
};

const retry = (state: DeadLetterState, { reactor, position }: About<'RetryDeadLetter'>): DeadLetterDecision => {
  const letter = letterAt(state, position);
  if (letter === undefined) return refused('no-dead-letter');
  if (letter.isRetrying) return NOTHING;
  const data = create(DeadLetterRetryRequestedSchema, { reactor, position });
  return accepted({ type: 'DeadLetterRetryRequested', data });
};

const skip = (state: DeadLetterState, { reactor, position }: About<'SkipDeadLetter'>): DeadLetterDecision => {
  if (letterAt(state, position) === undefined)
    return [...state.skipped.values()].includes(position) ? NOTHING : refused('no-dead-letter');
  return accepted({ type: 'DeadLetterSkipped', data: create(DeadLetterSkippedSchema, { reactor, position }) });
};

const settle = (state: DeadLetterState, { reactor, position }: About<'SettleDeadLetter'>): DeadLetterDecision =>
  letterAt(state, position)
    ? accepted({ type: 'DeadLetterSettled', data: create(DeadLetterSettledSchema, { reactor, position }) })
    : NOTHING;

const decide = (state: DeadLetterState, command: DeadLetterCommand): DeadLetterDecision => {
  switch (command.type) {
    case 'RecordDeadLetter':
      return record(state, command);
    case 'RetryDeadLetter':
      return retry(state, command);
    case 'SkipDeadLetter':
      return skip(state, command);
    case 'SettleDeadLetter':
      return settle(state, command);
  }
};

export const deadLetterDecider: Decider<DeadLetterState, DeadLetterCommand, DeadLetterEvent, DeadLetterRefusal> = {
  initial: initialDeadLetters,
  evolve: evolveDeadLetters,
  decide,
};

const STATE_BYTES = 400;
const LETTER_BYTES = 480;
const SKIPPED_BYTES = 200;

export const deadLetterAggregate: Aggregate<DeadLetterState, DeadLetterCommand, DeadLetterEvent, DeadLetterRefusal> = {
  category: DEAD_LETTER_CATEGORY,
  decider: deadLetterDecider,
  codec: deadLetterCodec,
  payloadScope: () => 'reactors',
  isPermanentRefusal: () => false,
  sizeOf: ({ open, skipped }) => STATE_BYTES + open.size * LETTER_BYTES + skipped.size * SKIPPED_BYTES,
};
