import type { RecordedEvent } from '../../kernel/event.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { StreamName } from '../../kernel/stream.js';
import type { ExecutionId } from '../../launch-plan-slots/commands.js';
import { slotsCodec } from '../../launch-plan-slots/events.js';
import type { Held } from './take.js';

/** A slot that is taken, and what is known of its execution. */
export type WatchedSlot = {
  readonly held: Held;
  /** The stream of the launch plan's slots. */
  readonly stream: StreamName;
  /** Id of the event that took the slot. */
  readonly id: Uint8Array;
  readonly position: bigint;
  /** The next revision of the execution's stream to read. */
  next: bigint;
  isCreated: boolean;
};

/** The slots that are taken, in the order in which they are checked. */
export interface HeldSlots {
  /** @throws {StreamParked} when the event cannot be read. */
  take(event: RecordedEvent): void;
  /** The next `count` slots to check; they move to the end of the order. */
  next(count: number): readonly WatchedSlot[];
  has(slot: WatchedSlot): boolean;
  delete(slot: WatchedSlot): void;
  /**
   * Drops the slots of a stream that cannot be read, until the log is read again from where the oldest of them was
   * taken.
   */
  park(stream: StreamName, position: bigint): void;
  /** Position at which the oldest slot was taken, including those of parked streams. */
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
 * Projects the taken slots from the events of all launch plans.
 *
 * @param now the time in milliseconds since 1970. A slot counts as taken no later than its event was read, even if the
 * clock that recorded it was ahead.
 */
export const heldSlots = (now: () => number): HeldSlots => {
  const slots = new Map<string, WatchedSlot>();
  /** The position from which each parked stream must be read again. */
  const parked = new Map<StreamName, bigint>();
  const key = ({ stream, held }: WatchedSlot): string => keyOf(stream, held.execution);
  const has = (slot: WatchedSlot): boolean => slots.get(key(slot)) === slot;

  return {
    has,
    take: (event) => {
      if (parked.has(event.stream)) return;
      const { type, data } = decodeEvent(slotsCodec, event);
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
    park: (stream, position) => {
      const ofStream = [...slots.values()].filter((slot) => slot.stream === stream);
      for (const slot of ofStream) slots.delete(key(slot));
      parked.set(
        stream,
        ofStream.reduce((first, slot) => (slot.position < first ? slot.position : first), position),
      );
    },
    oldest: () => {
      let oldest: bigint | undefined;
      for (const position of [...parked.values(), ...Array.from(slots.values(), (slot) => slot.position)])
        if (oldest === undefined || position < oldest) oldest = position;
      return oldest;
    },
  };
};
