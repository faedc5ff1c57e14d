import type { Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { msOf } from '../../look/times.js';

/** A position, also with the id of the log before it, as answers of the server have it. */
const POSITION = /^(?:.+\.)?(\d+)$/su;

/** Finds the transitions after a position or a time; none is after the present, which is empty. */
const isAfter = (asOf: string): ((transition: Transition) => boolean) => {
  const [, digits] = POSITION.exec(asOf) ?? [];
  if (digits !== undefined) return ({ position }) => position > BigInt(digits);
  const moment = Date.parse(asOf);
  return ({ recordedAt }) => (msOf(recordedAt) ?? 0) > moment;
};

/** The index of the last transition up to a position or a time: 0 when all are later, -1 when there are none. */
export const indexAt = (life: readonly Transition[], asOf: string): number => {
  const later = life.findIndex(isAfter(asOf));
  return later === -1 ? life.length - 1 : Math.max(0, later - 1);
};

/** The position of the transition at an index; that of the last one for an index after it, 0 when there are none. */
export const positionAt = (life: readonly Transition[], index: number): bigint =>
  (life[index] ?? life.at(-1))?.position ?? 0n;

/**
 * The position to show for a step from one index to another. An event may have many transitions, which are shown
 * together: a step back into the same event goes to the event before it.
 */
export const positionTowards = (life: readonly Transition[], from: number, to: number): bigint => {
  const position = positionAt(life, to);
  if (to >= from || position !== life[from]?.position) return position;
  return life.findLast((each) => each.position < position)?.position ?? position;
};
