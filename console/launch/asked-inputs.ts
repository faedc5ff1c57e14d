import { create } from '@bufbuild/protobuf';

import {
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionMetadataSchema,
  type ExecutionSpec,
  ExecutionSpecSchema,
} from '../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type Identifier, IdentifierSchema, ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Literal } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import { KINDS, type Kind } from '../definitions/kinds.js';
import { readVersions } from '../definitions/versions.js';
import { callRpc, call } from '../server/call.js';
import { ServerFailure } from '../server/failure.js';
import type { Named, Versioned } from '../server/ids.js';
import { ownValue } from './fields/own.js';

/** One input that a launch may give. */
export type AskedInput = {
  readonly name: string;
  readonly type: LiteralType;
  readonly description: string;
  readonly isRequired: boolean;
  readonly initial: Literal | undefined;
};

/** A launch plan or a task, the inputs that a launch may give, and the names of those that the launch plan fixes. */
type Target = {
  readonly target: Identifier;
  readonly inputs: readonly AskedInput[];
  readonly fixed: readonly string[];
};

/** A target that can be launched, with the other parts of the spec of its execution, such as labels. */
export type Launchable = Target & { readonly spec: ExecutionSpec };

type Given = Readonly<Record<string, Literal>>;

/** The inputs and the spec that a launch begins with. */
type Origin = { readonly given: Given; readonly spec: ExecutionSpec };

const MANUAL: Origin = { given: {}, spec: create(ExecutionSpecSchema, { metadata: { mode: Mode.MANUAL } }) };

const ofPlan = async (id: Versioned, given: Given, signal: AbortSignal): Promise<Target> => {
  const target = create(IdentifierSchema, { ...id, resourceType: ResourceType.LAUNCH_PLAN });
  const { spec, closure } = await call(AdminService.method.getLaunchPlan, { id: target }, signal);
  const inputs = Object.entries(closure?.expectedInputs?.parameters ?? {}).flatMap(([name, parameter]) => {
    if (!parameter.var?.type) return [];
    const initial =
      ownValue(given, name) ?? (parameter.behavior.case === 'default' ? parameter.behavior.value : undefined);
    const isRequired = parameter.behavior.case === 'required' && parameter.behavior.value;
    return [{ name, type: parameter.var.type, description: parameter.var.description, isRequired, initial }];
  });
  return { target, inputs, fixed: Object.keys(spec?.fixedInputs?.literals ?? {}) };
};

const ofTask = async (id: Versioned, given: Given, signal: AbortSignal): Promise<Target> => {
  const target = create(IdentifierSchema, { ...id, resourceType: ResourceType.TASK });
  const { closure } = await call(AdminService.method.getTask, { id: target }, signal);
  const variables = closure?.compiledTask?.template?.interface?.inputs?.variables ?? {};
  const inputs = Object.entries(variables).flatMap(([name, { type, description }]) =>
    type ? [{ name, type, description, isRequired: true, initial: ownValue(given, name) }] : [],
  );
  return { target, inputs, fixed: [] };
};

const INTERNAL_ERROR = 500;

/**
 * The inputs of an execution and its spec, with a reference to it in place of its own metadata. As after
 * RelaunchExecution, the cache is used again if the execution had ignored it.
 *
 * @throws {ServerFailure} also when the server cannot read the inputs now, which the form would take for none.
 */
const relaunchOf = async (id: Named, signal: AbortSignal): Promise<Origin> => {
  const [{ spec = create(ExecutionSpecSchema) }, { message, unread, requestId }] = await Promise.all([
    call(AdminService.method.getExecution, { id }, signal),
    callRpc(AdminService.method.getExecutionData, { id }, signal),
  ]);
  const fault = unread.get('full_inputs');
  if (fault !== undefined)
    throw new ServerFailure(`the inputs of ${id.name} cannot be read: ${fault}`, { status: INTERNAL_ERROR, requestId });
  const metadata = create(ExecutionMetadataSchema, { mode: Mode.RELAUNCH, referenceExecution: id });
  const kept = { ...spec, metadata, overwriteCache: false };
  // oxlint-disable-next-line typescript/no-deprecated -- older clients put the inputs there; those of the form count
  delete kept.inputs;
  return { given: message.fullInputs?.literals ?? {}, spec: kept };
};

const NOT_FOUND = 404;

/** The active version of a launch plan, however many newer ones there are; `undefined` where none is active. */
const activeVersionOf = async (id: Named, signal: AbortSignal): Promise<string | undefined> => {
  try {
    return (await call(AdminService.method.getActiveLaunchPlan, { id }, signal)).id?.version;
  } catch (error) {
    if (error instanceof ServerFailure && error.status === NOT_FOUND) return undefined;
    throw error;
  }
};

/** The version of a name: the one that was asked for, else the active one of a launch plan, else the newest. */
const versionOf = async (kind: Kind, { version, ...id }: Versioned, signal: AbortSignal): Promise<string> => {
  if (version !== '') return version;
  const active = kind === 'launch_plans' ? await activeVersionOf(id, signal) : undefined;
  if (active !== undefined) return active;
  const [newest] = (await readVersions(kind, { id, version: undefined }, signal)).versions;
  if (newest) return newest.version;
  throw new ServerFailure(`there is no ${KINDS[kind].one.toLowerCase()} ${id.name}`, {
    status: NOT_FOUND,
    requestId: '',
  });
};

/**
 * Reads what a form of a launch asks for. A workflow is launched by its default launch plan, which has the name and
 * version of the workflow. With `from`, the launch is a relaunch of this execution: the inputs begin with its own, and
 * the launch plan or task is that of its project and domain, which need not be those of the execution.
 */
export const readLaunchable = async (
  { kind, id, from }: { readonly kind: Kind; readonly id: Versioned; readonly from: Named | undefined },
  signal: AbortSignal,
): Promise<Launchable> => {
  const { given, spec } = from ? await relaunchOf(from, signal) : MANUAL;
  const { project, domain } = spec.launchPlan ?? id;
  const launched = { ...id, project, domain };
  const version = await versionOf(kind, launched, signal);
  const targetOf = KINDS[kind].resourceType === ResourceType.TASK ? ofTask : ofPlan;
  return { ...(await targetOf({ ...launched, version }, given, signal)), spec };
};
