import { executionCodec, recordsEnd } from '../../execution/events.js';
import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { StreamParked } from '../../kernel/fault.js';
import { follow } from '../../kernel/follow.js';
import type { Reactor } from '../../kernel/reactor.js';
import type { StreamName } from '../../kernel/stream.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { ExecutionId } from '../../launch-plan-slots/commands.js';
import { SLOTS_CATEGORY } from '../../launch-plan-slots/events.js';
import { heldSlots, type WatchedSlot } from './held-slots.js';
import { FENCED_AFTER_MS, type Slots } from './take.js';

export type ReleaseSlotsOptions = {
  readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
  readonly checkpoint: Checkpoint;
  readonly slots: Pick<Slots, 'settle'>;
  readonly streamOf: (id: ExecutionId) => StreamName;
  readonly timers: Timers;
  /**
   * Called with every failure. Failed checks are repeated in a later round; the slots of a parked stream are dropped
   * until the log is read again.
   */
  readonly onFailure: (error: unknown) => void;
};

const EVERY_MS = 1_000;
/** Number of executions checked each time, so that a round stays cheap however many slots are taken. */
const LOOKED_AT = 100;

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

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
 * @returns true when the execution no longer needs the slot.
 */
const looksOver = async (slot: WatchedSlot, { log, streamOf, timers }: ReleaseSlotsOptions): Promise<boolean> => {
  let isOver = false;
  for await (const page of log.readStream(streamOf(slot.held.execution), { from: slot.next })) {
    for (const event of page) {
      slot.isCreated ||= isCreatedBy(slot.held.attempt, event);
      isOver ||= recordsEnd(event);
      slot.next = event.revision + 1n;
    }
  }
  if (isOver) slot.next = 0n;
  return isOver || (!slot.isCreated && timers.now() - slot.held.sinceMs >= FENCED_AFTER_MS);
};

/**
 * Releases the slots of executions that have ended or were never created. It follows the slots, and reads the new
 * events of the executions that have them once in a while: to follow all reports of engines would cost a read of every
 * event for the sake of a few.
 */
export const releaseSlots = (options: ReleaseSlotsOptions): Reactor => {
  const { log, checkpoint, slots, timers, onFailure } = options;
  const held = heldSlots(() => timers.now());
  const state = { isClosed: false, isLive: false, stopWaiting: (): void => undefined };

  const take = (event: RecordedEvent): void => {
    try {
      held.take(event);
    } catch (error) {
      if (!(error instanceof StreamParked)) throw error;
      held.park(event.stream, event.position);
      onFailure(error);
    }
  };

  const settle = async (slot: WatchedSlot): Promise<void> => {
    if (!(await looksOver(slot, options)) || !held.has(slot)) return;
    if (await slots.settle(slot.stream, slot.held, `release-slots-${hex(slot.id)}`)) held.delete(slot);
  };

  const look = async (): Promise<void> => {
    for (const slot of held.next(LOOKED_AT)) {
      if (state.isClosed) return;
      await settle(slot).catch(onFailure);
    }
  };

  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const cancel = timers.after(EVERY_MS, resolve);
      state.stopWaiting = () => {
        cancel();
        resolve();
      };
    });

  const keepLooking = async (): Promise<void> => {
    while (!state.isClosed) {
      await pause();
      if (state.isLive) await look();
    }
  };

  const filter = { categories: [SLOTS_CATEGORY] };
  const following = follow({ log, filter, checkpoint, now: () => timers.now() }, async (page, isLive, reached) => {
    page.events.forEach(take);
    state.isLive = isLive;
    const oldest = held.oldest();
    await reached(oldest === undefined ? page.position : oldest - 1n);
  });
  const looking = keepLooking();
  return {
    ended: following.ended,
    close: async () => {
      state.isClosed = true;
      state.stopWaiting();
      await following.close();
      await looking;
    },
  };
};
