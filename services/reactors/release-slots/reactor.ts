import { executionCodec, recordsEnd } from '../../execution/events.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { StreamName } from '../../kernel/stream.js';
import { SLOTS_CATEGORY, slotsCodec } from '../../launch-plan-slots/events.js';
import { type DeadLetterRule, type MeasuredReactor, whenDue } from '../frame/when-due.js';
import { FENCED_AFTER_MS, type SlotHolder, type Slots } from './slots.js';
import type { ExecutionId } from '../../kernel/execution-id.js';
import { hexText } from '../../kernel/encoding/id-text.js';

export type ReleaseSlotsOptions = {
  readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
  readonly checkpoint: Checkpoint;
  readonly slots: Pick<Slots, 'releaseUnneeded'>;
  readonly streamOf: (id: ExecutionId) => StreamName;
  readonly timers: Timers;
  /**
   * Called with every failure. A failed check is repeated until it becomes a dead letter; one of a parked stream is not
   * repeated.
   */
  readonly onFailure: (error: unknown) => void;
  /** The rule when failing checks become dead letters; without it they are repeated for ever. */
  readonly givingUp?: DeadLetterRule;
};

/** A slot that is taken, and what is known of its execution. */
type WatchedSlot = {
  readonly held: SlotHolder;
  /** The stream of the launch plan's slots. */
  readonly stream: StreamName;
  readonly key: string;
  /** Id and position of the event that took the slot. */
  readonly id: Uint8Array;
  readonly position: bigint;
  /** The next revision of the execution's stream to read. */
  next: bigint;
  isCreated: boolean;
};

/** Time in milliseconds from one check of a slot to the next. */
const EVERY_MS = 1_000;
/** Number of slots checked in this time; with more of them, each is checked less often. */
const CHECKS_PER_INTERVAL = 100;

/**
 * True when the event is the creation of the execution by this attempt. An execution without an attempt matches all.
 */
const isCreatedBy = (attempt: string, recorded: RecordedEvent): boolean => {
  if (recorded.type !== 'ExecutionCreated') return false;
  const event = decodeEvent(executionCodec, recorded);
  return event.type === 'ExecutionCreated' && ['', attempt].includes(event.data.slotAttempt);
};

/**
 * Reads new events of the execution that has a slot.
 *
 * @returns true when the execution has ended, or the attempt that has the slot has not created it within a minute. The
 * attempt may still be waiting then: `Slots.releaseUnneeded` has the last word.
 */
const isOver = async (slot: WatchedSlot, { log, streamOf, timers }: ReleaseSlotsOptions): Promise<boolean> => {
  let hasEnded = false;
  for await (const page of log.readStream(streamOf(slot.held.execution), { from: slot.next })) {
    for (const event of page) {
      slot.isCreated ||= isCreatedBy(slot.held.attempt, event);
      hasEnded ||= recordsEnd(event);
      slot.next = event.revision + 1n;
    }
  }
  if (hasEnded) slot.next = 0n; // found again when the release fails
  return hasEnded || (!slot.isCreated && timers.now() - slot.held.sinceMs >= FENCED_AFTER_MS);
};

const isOlder = (position: bigint, slot: WatchedSlot | undefined): boolean =>
  slot !== undefined && position < slot.position;

/**
 * Projects the taken slots from the events of all launch plans.
 *
 * @param now the time in milliseconds since 1970. A slot counts as taken no later than its event was read, even if the
 * clock that recorded it was ahead.
 */
const heldSlots = (now: () => number) => {
  const slots = new Map<string, WatchedSlot>();
  return {
    count: () => slots.size,
    has: (slot: WatchedSlot): boolean => slots.get(slot.key) === slot,
    delete: ({ key }: WatchedSlot): void => void slots.delete(key),
    /**
     * @returns the slot that the event took; `undefined` when it released one, or when the event is that of a dead
     * letter and its execution has taken a slot anew.
     */
    take: (event: RecordedEvent): WatchedSlot | undefined => {
      const { stream, id, position } = event;
      const { type, data } = decodeEvent(slotsCodec, event);
      const { project = '', domain = '', name = '' } = data.execution ?? {};
      const key = JSON.stringify([stream, project, domain, name]);
      if (isOlder(position, slots.get(key))) return undefined;
      slots.delete(key);
      if (type === 'SlotReleased') return undefined;
      const sinceMs = Math.min(Number(data.takenAt?.seconds ?? 0n) * 1_000, now());
      const held = { execution: { project, domain, name }, attempt: data.attempt, sinceMs };
      const slot = { held, stream, key, id, position, next: 0n, isCreated: false };
      slots.set(key, slot);
      return slot;
    },
  };
};

/**
 * Releases the slots of executions that have ended or were never created. It follows the slots, and reads the new
 * events of the executions that have them at intervals: to follow all reports of engines would cost a read of every
 * event for the sake of a few.
 */
export const releaseSlots = (options: ReleaseSlotsOptions): MeasuredReactor => {
  const { slots, timers } = options;
  const held = heldSlots(() => timers.now());

  const release = async (slot: WatchedSlot): Promise<boolean> => {
    if (!(await isOver(slot, options)) || !held.has(slot)) return false;
    return slots.releaseUnneeded(slot.stream, slot.held, `release-slots-${hexText(slot.id)}`);
  };

  return whenDue<WatchedSlot>({
    ...options,
    filter: { categories: [SLOTS_CATEGORY] },
    afterMs: EVERY_MS,
    maxWaiting: Infinity,
    onlyLive: true,
    itemOf: held.take,
    work: async (slot) => {
      if (!held.has(slot)) return undefined;
      if (!(await release(slot)))
        return { againAtMs: timers.now() + EVERY_MS * Math.max(1, held.count() / CHECKS_PER_INTERVAL) };
      held.delete(slot);
      return undefined;
    },
  });
};
