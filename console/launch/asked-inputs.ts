import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type Identifier, ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Literal } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import { KINDS, type Kind } from '../definitions/kinds.js';
import { readVersions } from '../definitions/versions.js';
import { call } from '../server/call.js';
import { ServerFailure } from '../server/failure.js';
import type { Named, Versioned } from '../server/ids.js';

/** One input that a launch may give. */
export type AskedInput = {
  readonly name: string;
  readonly type: LiteralType;
  readonly description: string;
  readonly isRequired: boolean;
  readonly initial: Literal | undefined;
};

/** A launch plan or a task that can be launched: its inputs, and the names of those that are fixed. */
export type Launchable = {
  readonly target: Pick<Identifier, 'resourceType'> & Versioned;
  readonly inputs: readonly AskedInput[];
  readonly fixed: readonly string[];
};

type Given = Readonly<Record<string, Literal>>;

const ofPlan = async (id: Versioned, given: Given, signal: AbortSignal): Promise<Launchable> => {
  const target = { ...id, resourceType: ResourceType.LAUNCH_PLAN };
  const { spec, closure } = await call(AdminService.method.getLaunchPlan, { id: target }, signal);
  const inputs = Object.entries(closure?.expectedInputs?.parameters ?? {}).flatMap(([name, parameter]) => {
    if (!parameter.var?.type) return [];
    const initial = given[name] ?? (parameter.behavior.case === 'default' ? parameter.behavior.value : undefined);
    const isRequired = parameter.behavior.case === 'required' && parameter.behavior.value;
    return [{ name, type: parameter.var.type, description: parameter.var.description, isRequired, initial }];
  });
  return { target, inputs, fixed: Object.keys(spec?.fixedInputs?.literals ?? {}) };
};

const ofTask = async (id: Versioned, given: Given, signal: AbortSignal): Promise<Launchable> => {
  const target = { ...id, resourceType: ResourceType.TASK };
  const { closure } = await call(AdminService.method.getTask, { id: target }, signal);
  const variables = closure?.compiledTask?.template?.interface?.inputs?.variables ?? {};
  const inputs = Object.entries(variables).flatMap(([name, { type, description }]) =>
    type ? [{ name, type, description, isRequired: true, initial: given[name] }] : [],
  );
  return { target, inputs, fixed: [] };
};

const inputsOf = async (execution: Named, signal: AbortSignal): Promise<Given> => {
  const { fullInputs } = await call(AdminService.method.getExecutionData, { id: execution }, signal);
  return fullInputs?.literals ?? {};
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
 * version of the workflow. With `from`, the inputs begin with those of this execution.
 */
export const readLaunchable = async (
  { kind, id, from }: { readonly kind: Kind; readonly id: Versioned; readonly from: Named | undefined },
  signal: AbortSignal,
): Promise<Launchable> => {
  const [given, version] = await Promise.all([from ? inputsOf(from, signal) : {}, versionOf(kind, id, signal)]);
  const found = { ...id, version };
  return KINDS[kind].resourceType === ResourceType.TASK ? ofTask(found, given, signal) : ofPlan(found, given, signal);
};
