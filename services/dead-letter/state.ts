import { timestampMs } from '@bufbuild/protobuf/wkt';

import type { DeadLetter } from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import type { Letter } from './commands.js';
import type { DeadLetterEvent } from './events.js';

/** A dead letter; `isRetrying` from when it was asked for again until it is settled or given up again. */
export type OpenLetter = Letter & { readonly isRetrying: boolean };

/** Names the event that a dead letter is about by stream and revision: a copy of a log has other positions. */
export const letterKey = ({ stream, revision }: Pick<Letter, 'stream' | 'revision'>): string => `${stream}@${revision}`;

/** The dead letters of one reactor, by their keys, the oldest first. */
export type DeadLetterState = {
  readonly open: ReadonlyMap<string, OpenLetter>;
  /** The positions of the last letters that were skipped: the reactor may read their events again after a restart. */
  readonly skipped: ReadonlyMap<string, bigint>;
};

export const initialDeadLetters = (): DeadLetterState => ({ open: new Map(), skipped: new Map() });

/** Finds the open dead letter with a position. */
export const letterAt = ({ open }: DeadLetterState, position: bigint): OpenLetter | undefined =>
  [...open.values()].findLast((letter) => letter.position === position);

/** The number of skipped letters that are known. */
const MAX_SKIPPED = 1_000;

const letterOf = ({ position, stream, revision, reason, since, attempts, parked }: DeadLetter): Letter => ({
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
  return { ...state, open: new Map(state.open).set(letterKey(letter), { ...letter, isRetrying: true }) };
};
