import type { RecordedEvent } from '../../kernel/event.js';
import { metadataOf } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';
import type { ExecutionId } from '../../launch-plan-slots/commands.js';
import { slotsCodec } from '../../launch-plan-slots/events.js';
import type { Held } from './take.js';

/** A slot that somebody holds, and what has been seen of its execution. */
export type WatchedSlot = {
  readonly held: Held;
  /** The stream of slots that it is of. */
  readonly stream: StreamName;
  /** Of the event that took it. */
  readonly id: Uint8Array;
  readonly position: bigint;
  /** The first revision of the execution that has not been looked at. */
  next: bigint;
  isCreated: boolean;
};

/** The slots that are held, in the order that they are looked at. */
export interface HeldSlots {
  take(event: RecordedEvent): void;
  /** The next few; those that are still there come last the next time. */
  next(count: number): readonly WatchedSlot[];
  has(slot: WatchedSlot): boolean;
  delete(slot: WatchedSlot): void;
  /** Where the oldest was taken. */
  oldest(): bigint | undefined;
}

const keyOf = (stream: StreamName, { project, domain, name }: ExecutionId): string =>
  JSON.stringify([stream, project, domain, name]);

const watched = (event: RecordedEvent, execution: ExecutionId, attempt: string, sinceMs: number): WatchedSlot => ({
  held: { execution, attempt, sinceMs },
  stream: event.stream,
  id: event.id,
  position: event.position,
  next: 0n,
  isCreated: false,
});

/**
 * Folds the slots that are held from the events of all launch plans.
 *
 * @param now the time in milliseconds since 1970: no slot counts as taken later than it was read, whatever the clock
 * said that recorded it.
 */
export const heldSlots = (now: () => number): HeldSlots => {
  const slots = new Map<string, WatchedSlot>();
  const key = ({ stream, held }: WatchedSlot): string => keyOf(stream, held.execution);
  const has = (slot: WatchedSlot): boolean => slots.get(key(slot)) === slot;

  return {
    has,
    take: (event) => {
      const { type, data } = slotsCodec.decode(event.type, event.data, metadataOf(event).schema);
      const { project = '', domain = '', name = '' } = data.execution ?? {};
      const execution = { project, domain, name };
      if (type === 'SlotReleased') slots.delete(keyOf(event.stream, execution));
      else {
        const sinceMs = Math.min(Number(data.takenAt?.seconds ?? 0n) * 1_000, now());
        slots.set(keyOf(event.stream, execution), watched(event, execution, data.attempt, sinceMs));
      }
    },
    next: (count) => {
      const some = [...slots.entries()].slice(0, count);
      for (const [name, slot] of some) {
        slots.delete(name);
        slots.set(name, slot);
      }
      return some.map(([, slot]) => slot);
    },
    delete: (slot) => {
      if (has(slot)) slots.delete(key(slot));
    },
    oldest: () => {
      let oldest: bigint | undefined;
      for (const { position } of slots.values()) if (oldest === undefined || position < oldest) oldest = position;
      return oldest;
    },
  };
};
