import { randomUUID } from 'node:crypto';
import { holderOf, slotsAggregate } from '../../launch-plan-slots/decider.js';
import { slotsStream } from '../../launch-plan-slots/events.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import type { StreamName } from '../../kernel/stream.js';
import type { ExecutionId } from '../../kernel/execution-id.js';
import { type LaunchPlanName } from '../../kernel/identifier.js';

/**
 * Reads and voids attempts to create executions that have slots. They are recorded in the streams of the executions;
 * each attempt has a random id.
 */
export interface SlotHolders {
  /**
   * Reads the state of an attempt from the execution's stream: `pending` while it may still create the execution,
   * `running` while the execution that it created runs, and `over` after that, or when `fence` has voided it, or when
   * another attempt has created the execution.
   */
  statusOf(id: ExecutionId, attempt: string): Promise<'pending' | 'running' | 'over'>;
  /** Prevents an attempt from creating the execution; does nothing when it has created it already. */
  fence(id: ExecutionId, attempt: string): Promise<unknown>;
}

export type SlotsOptions = {
  readonly sessions: Sessions;
  readonly holders: SlotHolders;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/**
 * The result of taking a slot: the attempt to create the execution, and a function to call when that was refused. It
 * releases the slot unless the attempt still needs it.
 */
export type Slot = { readonly attempt: string; readonly release: () => Promise<unknown> };

/** The holder of a slot, as the launch plan's stream has it; `sinceMs` is when it was taken, in ms since 1970. */
export type SlotHolder = { readonly execution: ExecutionId; readonly attempt: string; readonly sinceMs: number };

/** The slots of launch plans. */
export interface Slots {
  /**
   * Takes a slot for an execution, or finds the one that it has. When no slot is free, releases the slots of executions
   * that have ended or were not created within a minute, and tries again, up to five times in all.
   *
   * @param max the most executions at a time; `undefined` when they are counted but not limited.
   * @returns the slot; `undefined` when none became free, or when other requests took those that did.
   */
  take(plan: LaunchPlanName, execution: ExecutionId, max: number | undefined): Promise<Slot | undefined>;
  /**
   * Releases the slots that are no longer needed.
   *
   * @returns true when at least one was released.
   */
  releaseAllUnneeded(stream: StreamName): Promise<boolean>;
  /**
   * Releases one slot if it is no longer needed.
   *
   * @param commandId id of the command that releases it.
   * @returns true when it was released.
   */
  releaseUnneeded(stream: StreamName, held: SlotHolder, commandId: string): Promise<boolean>;
}

/**
 * An attempt that has not created its execution after this time, in milliseconds, may be voided (`fence`). Until it
 * is voided, it can still create the execution.
 */
export const FENCED_AFTER_MS = 60_000;
/** Maximum number of attempts to take a slot in one call: other requests may take each slot that becomes free. */
const ROUNDS = 5;

const isOver = async (
  { holders, now }: SlotsOptions,
  { execution, attempt, sinceMs }: SlotHolder,
): Promise<boolean> => {
  const status = await holders.statusOf(execution, attempt);
  if (status !== 'pending' || now() - sinceMs < FENCED_AFTER_MS) return status === 'over';
  await holders.fence(execution, attempt);
  return (await holders.statusOf(execution, attempt)) === 'over';
};

const context = (commandId: string = randomUUID()) => ({ actor: 'launch-plan-slots', commandId });

/** Makes the `Slots` that send their commands through the sessions of this process. */
export const launchPlanSlots = (options: SlotsOptions): Slots => {
  const { sessions, now } = options;
  const releases = new Map<StreamName, Promise<boolean>>();

  const release = async (
    stream: StreamName,
    { execution, attempt }: Omit<SlotHolder, 'sinceMs'>,
    commandId?: string,
  ): Promise<void> => {
    await sessions.handle(slotsAggregate, stream, { type: 'ReleaseSlot', execution, attempt }, context(commandId));
  };

  const releaseUnneeded = async (stream: StreamName, held: SlotHolder, commandId?: string): Promise<boolean> => {
    if (!(await isOver(options, held))) return false;
    await release(stream, held, commandId);
    return true;
  };

  const releaseEach = async (stream: StreamName): Promise<boolean> => {
    const holders = await sessions.read(slotsAggregate, stream, ({ state }) => [...state.holders.values()]);
    let isFreed = false;
    for (const held of holders) {
      if (await releaseUnneeded(stream, held)) isFreed = true;
    }
    return isFreed;
  };

  // Requests that are refused at the same time share one pass over the holders.
  const releaseAllUnneeded = (stream: StreamName): Promise<boolean> => {
    const releasing = releases.get(stream) ?? releaseEach(stream).finally(() => releases.delete(stream));
    releases.set(stream, releasing);
    return releasing;
  };

  /** True when a slot is free now: another request may have released one between the refusal and this check. */
  const hasFreeSlot = (stream: StreamName, max: number | undefined): Promise<boolean> =>
    sessions.read(slotsAggregate, stream, ({ state }) => state.holders.size < (max ?? Infinity));

  /** The slot of an execution, taken by any request; `undefined` when it was released in the meantime. */
  const heldBy = async (stream: StreamName, execution: ExecutionId): Promise<Slot | undefined> => {
    const held = await sessions.read(slotsAggregate, stream, ({ state }) => holderOf(state, execution));
    return held && { attempt: held.attempt, release: () => releaseUnneeded(stream, held) };
  };

  return {
    releaseAllUnneeded,
    releaseUnneeded,
    take: async (plan, execution, max) => {
      const stream = slotsStream(plan);
      const attempt = randomUUID();
      for (let round = 0; round < ROUNDS; round += 1) {
        const command = { type: 'TakeSlot', execution, attempt, max, nowMs: now() } as const;
        const { kind } = await sessions.handle(slotsAggregate, stream, command, context());
        if (kind === 'accepted') {
          const slot = await heldBy(stream, execution);
          if (slot !== undefined) return slot;
        } else if (!(await releaseAllUnneeded(stream)) && !(await hasFreeSlot(stream, max))) return undefined;
      }
      return undefined;
    },
  };
};
