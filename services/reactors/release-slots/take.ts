import { randomUUID } from 'node:crypto';

import type { ExecutionId } from '../../launch-plan-slots/commands.js';
import { holderOf, slotsAggregate } from '../../launch-plan-slots/decider.js';
import { type LaunchPlanName, slotsStream } from '../../launch-plan-slots/events.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import type { StreamName } from '../../kernel/stream.js';

/** What is asked of executions. */
export interface SlotHolders {
  /**
   * What an attempt has come to, as the execution's stream says. It is `pending` while it may still create the
   * execution, `running` until the execution that it created has ended, and `over` after that, or when it was voided,
   * or when another attempt created the execution.
   */
  standing(id: ExecutionId, attempt: string): Promise<'pending' | 'running' | 'over'>;
  /** Makes sure that an attempt can no more create the execution; nothing when it has. */
  fence(id: ExecutionId, attempt: string): Promise<unknown>;
}

export type SlotsOptions = {
  readonly sessions: Sessions;
  readonly holders: SlotHolders;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** A slot that is held: by which attempt, and how to give it back when a create of that attempt was refused. */
export type Slot = { readonly attempt: string; readonly release: () => Promise<unknown> };

/** A slot that is held: for which execution, by which attempt, since when in milliseconds since 1970. */
export type Held = { readonly execution: ExecutionId; readonly attempt: string; readonly sinceMs: number };

/** The slots of launch plans. */
export interface Slots {
  /**
   * Takes a slot for an execution, or finds the one that it has. Before it gives up, every holder's own stream is read:
   * what has ended gives its slot back, and so does what was not created within a minute.
   *
   * @returns the slot; `undefined` when there are as many executions as there may be.
   */
  take(plan: LaunchPlanName, execution: ExecutionId, max: number | undefined): Promise<Slot | undefined>;
  /** Gives the slots back that nobody needs any more; answers whether there was one. */
  clear(stream: StreamName): Promise<boolean>;
  /** Gives one slot back if nobody needs it any more; answers whether that was so. The id is that of the command. */
  settle(stream: StreamName, held: Held, commandId: string): Promise<boolean>;
}

/** How long an attempt may take from its slot to its execution, in milliseconds. */
export const FENCED_AFTER_MS = 60_000;
/** Somebody else may be faster each time. */
const ROUNDS = 5;

const isOver = async ({ holders, now }: SlotsOptions, { execution, attempt, sinceMs }: Held): Promise<boolean> => {
  const standing = await holders.standing(execution, attempt);
  if (standing !== 'pending' || now() - sinceMs < FENCED_AFTER_MS) return standing === 'over';
  await holders.fence(execution, attempt);
  return (await holders.standing(execution, attempt)) === 'over';
};

const context = (commandId: string = randomUUID()) => ({ actor: 'launch-plan-slots', commandId });

/** Opens the slots over the sessions of this process. */
export const launchPlanSlots = (options: SlotsOptions): Slots => {
  const { sessions, now } = options;
  const clearing = new Map<StreamName, Promise<boolean>>();

  const release = async (
    stream: StreamName,
    { execution, attempt }: Omit<Held, 'sinceMs'>,
    commandId?: string,
  ): Promise<void> => {
    await sessions.handle(slotsAggregate, stream, { type: 'ReleaseSlot', execution, attempt }, context(commandId));
  };

  const settle = async (stream: StreamName, held: Held, commandId?: string): Promise<boolean> => {
    if (!(await isOver(options, held))) return false;
    await release(stream, held, commandId);
    return true;
  };

  const clearAll = async (stream: StreamName): Promise<boolean> => {
    const holders = await sessions.read(slotsAggregate, stream, ({ state }) => [...state.holders.values()]);
    let isFreed = false;
    for (const held of holders) {
      if (await settle(stream, held)) isFreed = true;
    }
    return isFreed;
  };

  // Refused together, they look together.
  const clear = (stream: StreamName): Promise<boolean> => {
    const running = clearing.get(stream) ?? clearAll(stream).finally(() => clearing.delete(stream));
    clearing.set(stream, running);
    return running;
  };

  /** Somebody else may have given a slot back between the refusal and the look. */
  const hasRoom = (stream: StreamName, max: number | undefined): Promise<boolean> =>
    sessions.read(slotsAggregate, stream, ({ state }) => state.holders.size < (max ?? Infinity));

  /** The slot of an execution, whichever request took it; `undefined` when it was given back meanwhile. */
  const heldBy = async (stream: StreamName, execution: ExecutionId): Promise<Slot | undefined> => {
    const held = await sessions.read(slotsAggregate, stream, ({ state }) => holderOf(state, execution));
    return held && { attempt: held.attempt, release: () => settle(stream, held) };
  };

  return {
    clear,
    settle,
    take: async (plan, execution, max) => {
      const stream = slotsStream(plan);
      const attempt = randomUUID();
      for (let round = 0; round < ROUNDS; round += 1) {
        const command = { type: 'TakeSlot', execution, attempt, max, nowMs: now() } as const;
        const { kind } = await sessions.handle(slotsAggregate, stream, command, context());
        if (kind === 'accepted') {
          const slot = await heldBy(stream, execution);
          if (slot !== undefined) return slot;
        } else if (!(await clear(stream)) && !(await hasRoom(stream, max))) return undefined;
      }
      return undefined;
    },
  };
};
