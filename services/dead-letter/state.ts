import { timestampMs } from '@bufbuild/protobuf/wkt';

import type { DeadLetter } from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import type { Letter } from './commands.js';
import type { DeadLetterEvent } from './events.js';

/** A dead letter; `isRetrying` from when it was asked for again until it is settled or given up again. */
export type OpenLetter = Letter & { readonly isRetrying: boolean };

/** The dead letters of one reactor, by position; those of old come first. */
export type DeadLetterState = {
  readonly open: ReadonlyMap<bigint, OpenLetter>;
  /** The last positions that were skipped: the reactor may read them again after a restart. */
  readonly skipped: ReadonlySet<bigint>;
};

export const initialDeadLetters = (): DeadLetterState => ({ open: new Map(), skipped: new Set() });

/** The number of skipped positions that are known. */
const MAX_SKIPPED = 1_000;

const letterOf = ({ position, stream, revision, reason, since, attempts, parked }: DeadLetter): Letter => ({
  ...{ position, stream, revision, reason, attempts, parked },
  sinceMs: since ? timestampMs(since) : 0,
});

const without = ({ open }: DeadLetterState, position: bigint): ReadonlyMap<bigint, OpenLetter> => {
  const left = new Map(open);
  left.delete(position);
  return left;
};

export const evolveDeadLetters = (state: DeadLetterState, { type, data }: DeadLetterEvent): DeadLetterState => {
  if (type === 'DeadLetterRecorded') {
    if (data.letter === undefined) return state;
    const letter = letterOf(data.letter);
    return { ...state, open: new Map(state.open).set(letter.position, { ...letter, isRetrying: false }) };
  }
  const { position } = data;
  if (type === 'DeadLetterSettled') return { ...state, open: without(state, position) };
  if (type === 'DeadLetterSkipped') {
    const skipped = new Set([...state.skipped, position].slice(-MAX_SKIPPED));
    return { open: without(state, position), skipped };
  }
  const letter = state.open.get(position);
  if (letter === undefined) return state;
  return { ...state, open: new Map(state.open).set(position, { ...letter, isRetrying: true }) };
};
