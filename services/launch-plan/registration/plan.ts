import { create, toBinary } from '@bufbuild/protobuf';

import {
  ConcurrencyLimitBehavior,
  LaunchPlanClosureSchema,
  LaunchPlanSchema,
  type LaunchPlanSpec,
  LaunchPlanSpecSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { IdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type ParameterMap,
  ParameterMapSchema,
  type TypedInterface,
  type VariableMap,
  VariableMapSchema,
} from '../../../proto/gen/platformidl/core/interface_pb.js';
import { expectedInputs as expectedInputsOf, plannedInputsProblem } from '../../compiler/launch-plan-inputs.js';
import { digestOf } from '../../kernel/encoding/digest.js';
import type { Version } from '../../kernel/identifier.js';
import { assertNotifications } from '../../kernel/values/notifications.js';
import { RpcError } from '../../kernel/rpc.js';
import type { RegisterLaunchPlan } from '../commands.js';
import { scheduleProblem } from './schedule.js';

const refuse = (problem: string | undefined): void => {
  if (problem !== undefined) throw new RpcError('INVALID_ARGUMENT', problem);
};

const limitsConcurrency = ({ concurrencyPolicy }: LaunchPlanSpec): boolean =>
  concurrencyPolicy?.behavior === ConcurrencyLimitBehavior.SKIP;

/** With `SKIP`, a limit of zero is refused: the plan could never run. */
const concurrencyProblem = ({ concurrencyPolicy }: LaunchPlanSpec): string | undefined => {
  const { max = 0, behavior = 0 } = concurrencyPolicy ?? {};
  if (ConcurrencyLimitBehavior[behavior] === undefined)
    return `invalid value for concurrency_policy.behavior: ${behavior}`;
  const least = behavior === ConcurrencyLimitBehavior.SKIP ? 1 : 0;
  return max < least ? `invalid value for concurrency_policy.max: ${max} is below ${least}` : undefined;
};

/**
 * The expected inputs are recorded twice: as the plan's default inputs, where clients read them, and in its closure.
 */
const registration = (
  id: Version,
  sent: LaunchPlanSpec,
  { expectedInputs, expectedOutputs }: { expectedInputs: ParameterMap; expectedOutputs: VariableMap },
): RegisterLaunchPlan => {
  const spec = { ...sent, defaultInputs: expectedInputs };
  const closure = create(LaunchPlanClosureSchema, { expectedInputs, expectedOutputs });
  const plan = create(LaunchPlanSchema, { id: create(IdentifierSchema, id), spec, closure });
  return {
    type: 'RegisterLaunchPlan',
    id,
    spec: toBinary(LaunchPlanSpecSchema, spec),
    expectedInputs: toBinary(ParameterMapSchema, expectedInputs),
    expectedOutputs: toBinary(VariableMapSchema, expectedOutputs),
    limitsConcurrency: limitsConcurrency(sent),
    digest: digestOf(LaunchPlanSchema, plan),
  };
};

/**
 * Makes the registration of a launch plan.
 *
 * @param workflow the interface of its workflow.
 * @throws {RpcError} INVALID_ARGUMENT naming the first error, in the order in which FlyteAdmin checks.
 */
export const planOf = (id: Version, spec: LaunchPlanSpec, workflow: TypedInterface | undefined): RegisterLaunchPlan => {
  const { defaultInputs, fixedInputs, entityMetadata } = spec;
  const planned = { workflowInputs: workflow?.inputs, defaultInputs, fixedInputs };
  refuse(plannedInputsProblem(planned));
  const expectedInputs = expectedInputsOf(planned);
  refuse(scheduleProblem(entityMetadata?.schedule, expectedInputs));
  assertNotifications(entityMetadata?.notifications ?? []);
  refuse(concurrencyProblem(spec));
  if (entityMetadata?.launchConditions)
    refuse(`Launch condition must be empty, found ${entityMetadata.launchConditions.typeUrl || 'one'}`);
  return registration(id, spec, { expectedInputs, expectedOutputs: workflow?.outputs ?? create(VariableMapSchema) });
};
