import { ConcurrencyLimitBehavior } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { type ExecutionAggregate } from '../aggregate.js';
import type { Slot, Slots } from '../ports.js';
import type { LaunchRefusal } from './answer.js';
import type { Target } from './target.js';
import { executionStream, type ExecutionId } from '../../kernel/execution-id.js';

export type SlotServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly slots: Slots;
};

/** A slot that was taken, or none where the launch plan has no slots; or the refusal. */
export type SlotAnswer = { readonly slot?: Slot } | { readonly refusal: LaunchRefusal };

/** Takes a slot when the launch plan limits concurrency. Refuses when its limit is reached, or the execution exists. */
export const slotFor = async (
  { sessions, aggregate, slots }: SlotServices,
  target: Target,
  id: ExecutionId,
): Promise<SlotAnswer> => {
  if (target.kind === 'task' || !target.limitsConcurrency) return {};
  const exists = await sessions.read(aggregate, executionStream(id), ({ state }) => state.exists);
  if (exists) return { refusal: { kind: 'execution', refusal: { kind: 'execution-exists' } } };
  const { launchPlanId, spec } = target;
  const { max = 0, behavior } = spec.concurrencyPolicy ?? {};
  const limit = behavior === ConcurrencyLimitBehavior.SKIP ? max : undefined;
  const slot = await slots.take(launchPlanId, id, limit);
  return slot === undefined ? { refusal: { kind: 'limit-reached', max, plan: launchPlanId.name } } : { slot };
};
