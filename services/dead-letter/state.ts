import { timestampMs } from '@bufbuild/protobuf/wkt';

import type { DeadLetter } from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import type { DeadLetterRecord } from './commands.js';
import type { DeadLetterEvent } from './events.js';

/**
 * A dead letter that is neither settled nor skipped. `isRetrying` from the request to retry it until it is settled,
 * skipped or recorded again.
 */
export type OpenLetter = DeadLetterRecord & { readonly isRetrying: boolean };

/** Names the event that a dead letter is about by stream and revision: a copy of a log has other positions. */
export const letterKey = ({ stream, revision }: Pick<DeadLetterRecord, 'stream' | 'revision'>): string =>
  `${stream}@${revision}`;

/** The dead letters of one reactor, by their keys, the oldest first. */
export type DeadLetterState = {
  readonly open: ReadonlyMap<string, OpenLetter>;
  /** The positions of the last letters that were skipped: the reactor may read their events again after a restart. */
  readonly skipped: ReadonlyMap<string, bigint>;
};

export const initialDeadLetters = (): DeadLetterState => ({ open: new Map(), skipped: new Map() });

/**
 * Finds the open dead letter that a command or event names by position; the newest, should several have that position.
 */
export const letterAt = ({ open }: DeadLetterState, position: bigint): OpenLetter | undefined =>
  [...open.values()].findLast((letter) => letter.position === position);

/** Maximum number of skipped letters that are remembered; beyond it, the oldest are forgotten. */
const MAX_SKIPPED = 1_000;

const letterOf = ({ position, stream, revision, reason, since, attempts, parked }: DeadLetter): DeadLetterRecord => ({
  ...{ position, stream, revision, reason, attempts, parked },
  sinceMs: since ? timestampMs(since) : 0,
});

const without = ({ open }: DeadLetterState, letter: OpenLetter): ReadonlyMap<string, OpenLetter> => {
  const left = new Map(open);
  left.delete(letterKey(letter));
  return left;
};

export const evolveDeadLetters = (state: DeadLetterState, { type, data }: DeadLetterEvent): DeadLetterState => {
  if (type === 'DeadLetterRecorded') {
    if (data.letter === undefined) return state;
    const recorded = letterOf(data.letter);
    return { ...state, open: new Map(state.open).set(letterKey(recorded), { ...recorded, isRetrying: false }) };
  }
  const letter = letterAt(state, data.position);
  if (letter === undefined) return state;
  if (type === 'DeadLetterSettled') return { ...state, open: without(state, letter) };
  if (type === 'DeadLetterSkipped') {
    const skipped = new Map([...state.skipped, [letterKey(letter), letter.position] as const].slice(-MAX_SKIPPED));
    return { open: without(state, letter), skipped };
  }
  // DeadLetterRetryRequested
  return { ...state, open: new Map(state.open).set(letterKey(letter), { ...letter, isRetrying: true }) };
};
