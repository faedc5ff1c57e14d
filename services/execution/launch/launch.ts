import { create } from '@bufbuild/protobuf';
import type { Notification } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  type ExecutionCreateRequest,
  ExecutionMetadataSchema,
  type ExecutionSpec,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  ExecutionClusterLabelSchema,
  type WorkflowExecutionConfig,
} from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type ExecutionCreated, ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { launchInputs } from '../../compiler/launch-inputs.js';
import { literalMapProblem } from '../../compiler/types/literal-map.js';
import { recordedBefore } from '../../kernel/command-context.js';
import { assertLabels } from '../../kernel/values/labels.js';
import { assertNotifications } from '../../kernel/values/notifications.js';
import type { CommandContext } from '../../kernel/ports/sessions.js';
import { missing, RpcError } from '../../kernel/rpc.js';
import { assertExecutionName, generatedName, nameOfKey } from '../execution-id.js';
import { namespaceOf } from '../platform.js';
import type { LargeLaunches, LaunchInputs } from '../ports.js';
import { type Launched, type LaunchRefusal, errorsAsRefusals } from './answer.js';
import { assertConfig, resolveConfiguration, type ConfigServices } from './resolve-configuration.js';
import { type GivenInputs, removeInputs } from './given-inputs.js';
import { isChild, uncountedLabels } from './passed-on-labels.js';
import { checkReference, type Inherited, inheritanceOf, type LineageServices } from './lineage.js';
import { slotFor, type SlotServices } from './slot.js';
import { assertLaunchable, type Target, launchTarget, type TargetServices } from './target.js';
import { executionStream, type ExecutionId } from '../../kernel/execution-id.js';

export type LaunchServices = TargetServices &
  LineageServices &
  ConfigServices &
  SlotServices & {
    readonly random: (bytes: number) => Uint8Array;
    readonly largeLaunches: LargeLaunches;
  };

/** A request to launch a launch plan or a task. Its mode and its parent, if it has one, are in the spec's metadata. */
export type Launch = { readonly request: ExecutionCreateRequest; readonly given: GivenInputs };

/** The caller of a launch. */
export type Actor = CommandContext & {
  /** The person or service that launches; the metadata of a child has the principal of its parent instead. */
  readonly principal: string;
};

const requestedNotifications = ({ notificationOverrides }: ExecutionSpec): readonly Notification[] =>
  notificationOverrides.case === 'notifications' ? notificationOverrides.value.notifications : [];

/** The parts of a request whose fields have been checked, each by itself. */
type CheckedRequest = {
  readonly spec: ExecutionSpec;
  readonly launches: Identifier;
};

const assertPlace = async ({ projects }: LaunchServices, { project, domain, name }: ExecutionId): Promise<void> => {
  if (project === '') throw missing('project');
  if (domain === '') throw missing('domain');
  if (name !== '') assertExecutionName(name);
  const refusal = await projects.check(project, domain);
  if (refusal !== undefined) throw refusal;
};

const invalidArgument = (problem: string): RpcError => new RpcError('INVALID_ARGUMENT', problem);

/** Checks the literals of a decoded map. A large map is checked later, when it is completed. */
const assertLiterals = (given: GivenInputs): void => {
  const problem = given instanceof Uint8Array ? undefined : literalMapProblem('inputs', given);
  if (problem !== undefined) throw invalidArgument(problem);
};

/** The label and the annotation that a bridge sets on the objects of executions. */
const BRIDGE_KEYS = ['flightlog.io/bridge', 'flightlog.io/launch-id'];

/** Removes from the spec of a child the keys that a bridge has set on the object of its parent: engines copy them. */
const removeBridgeKeys = ({ labels, annotations }: ExecutionSpec): void => {
  for (const values of [labels?.values, annotations?.values]) for (const key of BRIDGE_KEYS) delete values?.[key];
};

/** Removes the `org` of the ids in a spec, which is never stored. */
const removeOrgs = ({ launchPlan, metadata }: ExecutionSpec): void => {
  const ids = [launchPlan, metadata?.referenceExecution, metadata?.parentNodeExecution?.executionId];
  for (const id of ids) if (id) id.org = '';
};

const checkedRequest = (request: ExecutionCreateRequest, given: GivenInputs): CheckedRequest => {
  const { spec } = request;
  if (spec === undefined) throw missing('spec');
  if (isChild(spec)) removeBridgeKeys(spec);
  removeOrgs(spec);
  removeInputs(request);
  const launches = assertLaunchable(spec.launchPlan);
  assertLiterals(given);
  assertNotifications(requestedNotifications(spec));
  assertLabels(spec.labels, uncountedLabels(spec));
  assertConfig(spec);
  checkReference(spec.metadata);
  return { spec, launches };
};

type Inputs = Exclude<LaunchInputs, { readonly problem: string }>;

const resolvedInputs = async (
  { largeLaunches }: LaunchServices,
  target: Target,
  given: GivenInputs,
): Promise<Inputs> => {
  const fixed = target.kind === 'launch-plan' ? target.spec.fixedInputs : undefined;
  const against = { expected: target.expectedInputs, fixed };
  const isLarge = given instanceof Uint8Array;
  const resolved = isLarge ? await largeLaunches.inputs(given, against) : launchInputs(given, against);
  if ('problem' in resolved) throw invalidArgument(resolved.problem);
  return resolved;
};

/** The notifications of an execution. An explicitly empty list in the request still means the launch plan's list. */
const resolvedNotifications = (spec: ExecutionSpec, target: Target): readonly Notification[] => {
  const requested = requestedNotifications(spec);
  const isDisabled = spec.notificationOverrides.case === 'disableAll' && spec.notificationOverrides.value;
  if (requested.length > 0 || isDisabled || target.kind === 'task') return requested;
  return target.spec.entityMetadata?.notifications ?? [];
};

type Context = {
  readonly id: ExecutionId;
  readonly principal: string;
  readonly target: Target;
  /** Encoded: the complete inputs, with the defaults and the fixed inputs, and the inputs that the caller gave. */
  readonly inputs: Inputs;
  readonly inherited: Inherited;
};

/**
 * The spec as GetExecution returns it: the requested spec and what the platform has added. The request was decoded for
 * this call alone, so its spec is changed in place.
 */
const storedSpec = (
  { platform }: LaunchServices,
  spec: ExecutionSpec,
  config: WorkflowExecutionConfig,
  context: Context,
): ExecutionSpec => {
  const { id, target, inherited } = context;
  const metadata = (spec.metadata ??= create(ExecutionMetadataSchema));
  metadata.principal = inherited.principal ?? context.principal;
  metadata.nesting = inherited.nesting ?? metadata.nesting;
  metadata.artifactIds = [];
  metadata.systemMetadata = {
    $typeName: 'platformidl.admin.SystemMetadata',
    executionCluster: '',
    namespace: namespaceOf(platform, id.project, id.domain),
  };
  if (inherited.clusterLabel !== undefined && inherited.clusterLabel !== '')
    spec.executionClusterLabel = create(ExecutionClusterLabelSchema, { value: inherited.clusterLabel });
  if (config.securityContext !== undefined) spec.securityContext = config.securityContext;
  if (target.kind === 'launch-plan') spec.maxParallelism = config.maxParallelism;
  return spec;
};

const createdOf = async (
  services: LaunchServices,
  checked: CheckedRequest,
  context: Context,
): Promise<ExecutionCreated> => {
  const { id, target, inputs } = context;
  const { config, engine, read } = await resolveConfiguration(services, checked.spec, context);
  return create(ExecutionCreatedSchema, {
    id,
    spec: storedSpec(services, checked.spec, config, context),
    workflowId: target.workflowId,
    ...(target.kind === 'task' ? { taskId: target.taskId } : { launchPlanId: target.launchPlanId }),
    inputs: { content: { case: 'inline', value: inputs.inputs } },
    userInputs: { content: { case: 'inline', value: inputs.userInputs } },
    notifications: [...resolvedNotifications(checked.spec, target)],
    config,
    engine,
    read: [...read],
  });
};

const NAME_BYTES = 19;

/**
 * The id of the new execution. Its name is the requested one, else one derived from the idempotency key, else a random
 * one.
 */
const idOf = (
  { random }: LaunchServices,
  { project, domain, name }: ExecutionCreateRequest,
  { principal, idempotency }: Actor,
): ExecutionId => {
  if (name !== '') return { project, domain, name };
  if (idempotency === undefined) return { project, domain, name: generatedName(random(NAME_BYTES)) };
  return { project, domain, name: nameOfKey([principal, idempotency.operation, project, domain, idempotency.key]) };
};

const refused = (id: ExecutionId, refusal: LaunchRefusal, position?: bigint): Launched => ({
  kind: 'refused',
  id,
  refusal,
  ...(position !== undefined && { position }),
});

/**
 * Checks a launch, and makes the event that it will record. For a single task, registers the generated workflow and
 * launch plan.
 */
const planned = async (services: LaunchServices, id: ExecutionId, { request, given }: Launch, principal: string) => {
  const { project, domain } = request;
  await assertPlace(services, { project, domain, name: request.name });
  const checked = checkedRequest(request, given);
  const target = await launchTarget(services, checked.launches);
  const inputs = await resolvedInputs(services, target, given);
  const inherited = await inheritanceOf(services, checked.spec.metadata);
  const created = await createdOf(services, checked, { id, principal, target, inputs, inherited });
  await target.prepare();
  return { target, created };
};

const launchAs = async (
  services: LaunchServices,
  id: ExecutionId,
  launchRequest: Launch,
  actor: Actor,
): Promise<Launched> => {
  const { sessions, aggregate } = services;
  const stream = executionStream(id);
  const before = await recordedBefore(sessions, aggregate, stream, actor);
  if (before !== undefined) return { kind: 'launched', id, position: before };
  const { target, created } = await planned(services, id, launchRequest, actor.principal);
  const taken = await slotFor(services, target, id);
  if ('refusal' in taken) return refused(id, taken.refusal);
  if (taken.slot !== undefined) created.slotAttempt = taken.slot.attempt;
  const outcome = await sessions.handle(aggregate, stream, { type: 'CreateExecution', id, created }, actor);
  const { position } = outcome;
  if (outcome.kind === 'accepted') return { kind: 'launched', id, position };
  await taken.slot?.release();
  return refused(id, { kind: 'execution', refusal: outcome.refusal }, position);
};

/**
 * Launches the launch plan or task of a request: checks it, completes its inputs and its configuration, takes a slot
 * where the launch plan limits concurrency, and creates the execution's stream.
 *
 * @throws {RpcError} of a temporary failure; the other errors of a request are refusals.
 * @throws {Fault} when a store fails.
 */
export const launch = (services: LaunchServices, launchRequest: Launch, actor: Actor): Promise<Launched> => {
  const id = idOf(services, launchRequest.request, actor);
  return errorsAsRefusals(id, () => launchAs(services, id, launchRequest, actor));
};
