import { ConcurrencyLimitBehavior } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { RpcError } from '../../kernel/rpc.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { type ExecutionAggregate, executionStream } from '../aggregate.js';
import type { ExecutionId } from '../wire/envelope.js';
import type { Slot, Slots } from '../ports.js';
import { refusalError } from './refusals.js';
import type { Target } from './target.js';

export type SlotServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly slots: Slots;
};

/**
 * Takes a slot when the launch plan limits concurrency.
 *
 * @returns `undefined` when the launch plan has no slots.
 * @throws {RpcError} ALREADY_EXISTS when the limit of concurrent executions is reached, or this execution exists.
 */
export const slotFor = async (
  { sessions, aggregate, slots }: SlotServices,
  target: Target,
  id: ExecutionId,
): Promise<Slot | undefined> => {
  if (target.kind === 'task' || !target.limitsConcurrency) return undefined;
  const isThere = await sessions.read(aggregate, executionStream(id), ({ state }) => state.exists);
  if (isThere) throw refusalError({ kind: 'execution-exists' }, { id });
  const { launchPlanId, spec } = target;
  const { max = 0, behavior } = spec.concurrencyPolicy ?? {};
  const limit = behavior === ConcurrencyLimitBehavior.SKIP ? max : undefined;
  const slot = await slots.take(launchPlanId, id, limit);
  if (slot !== undefined) return slot;
  throw new RpcError(
    'ALREADY_EXISTS',
    `concurrency limit (${max}) reached for launch plan ${launchPlanId.name}; skipping execution`,
  );
};
