import { type LaunchPlan, LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { Task } from '../../proto/gen/platformidl/admin/task_pb.js';
import type { Workflow } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import type { TypedInterface, VariableMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { MessageInitShape } from '@bufbuild/protobuf';

import { type ResourceListRequestSchema, Sort_Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { msOf } from '../look/times.js';
import { call } from '../server/call.js';
import { ServerFailure } from '../server/failure.js';
import type { Named } from '../server/ids.js';
import { type Kind, KINDS } from './kinds.js';

/** Number of the newest versions that a page lists; an older one is listed only while the page shows it. */
export const MAX_VERSIONS = 100;

/** A version of a definition, of any kind. */
export type Version = {
  readonly version: string;
  /** In milliseconds since 1970. */
  readonly createdAt: number | undefined;
  /** The state of a launch plan; `false` for tasks and workflows, which have none. */
  readonly isActive: boolean;
  readonly inputs: VariableMap['variables'];
  readonly outputs: VariableMap['variables'];
  /** The launch plan itself; `undefined` for tasks and workflows. */
  readonly plan?: LaunchPlan;
};

const interfaceOf = (typed: TypedInterface | undefined): Pick<Version, 'inputs' | 'outputs'> => ({
  inputs: typed?.inputs?.variables ?? {},
  outputs: typed?.outputs?.variables ?? {},
});

const ofTask = ({ id, closure }: Task): Version => ({
  version: id?.version ?? '',
  createdAt: msOf(closure?.createdAt),
  isActive: false,
  ...interfaceOf(closure?.compiledTask?.template?.interface),
});

const ofWorkflow = ({ id, closure }: Workflow): Version => ({
  version: id?.version ?? '',
  createdAt: msOf(closure?.createdAt),
  isActive: false,
  ...interfaceOf(closure?.compiledWorkflow?.primary?.template?.interface),
});

const variablesOf = ({ closure }: LaunchPlan): VariableMap['variables'] =>
  Object.fromEntries(
    Object.entries(closure?.expectedInputs?.parameters ?? {}).flatMap(([name, parameter]) =>
      parameter.var ? [[name, parameter.var]] : [],
    ),
  );

const ofLaunchPlan = (plan: LaunchPlan): Version => ({
  version: plan.id?.version ?? '',
  createdAt: msOf(plan.closure?.createdAt),
  isActive: plan.closure?.state === LaunchPlanState.ACTIVE,
  inputs: variablesOf(plan),
  outputs: plan.closure?.expectedOutputs?.variables ?? {},
  plan,
});

/** The newest versions of a name, the newest first, and at the end an older one that is asked for. */
export type VersionPage = {
  readonly versions: readonly Version[];
  /** True when there are older versions than the newest 100. */
  readonly hasOlder: boolean;
};

type ListRequest = MessageInitShape<typeof ResourceListRequestSchema>;

const listVersions = async (kind: Kind, request: ListRequest, signal: AbortSignal): Promise<VersionPage> => {
  const { method } = AdminService;
  switch (kind) {
    case 'tasks': {
      const { tasks, token } = await call(method.listTasks, request, signal);
      return { versions: tasks.map(ofTask), hasOlder: token !== '' };
    }
    case 'workflows': {
      const { workflows, token } = await call(method.listWorkflows, request, signal);
      return { versions: workflows.map(ofWorkflow), hasOlder: token !== '' };
    }
    case 'launch_plans': {
      const { launchPlans, token } = await call(method.listLaunchPlans, request, signal);
      return { versions: launchPlans.map(ofLaunchPlan), hasOlder: token !== '' };
    }
  }
};

const getVersion = async (kind: Kind, named: Named & { version: string }, signal: AbortSignal): Promise<Version> => {
  const { method } = AdminService;
  const id = { ...named, resourceType: KINDS[kind].resourceType };
  switch (kind) {
    case 'tasks':
      return ofTask(await call(method.getTask, { id }, signal));
    case 'workflows':
      return ofWorkflow(await call(method.getWorkflow, { id }, signal));
    case 'launch_plans':
      return ofLaunchPlan(await call(method.getLaunchPlan, { id }, signal));
  }
};

const NOT_FOUND = 404;

/** Reads the newest 100 versions of a name, and the one that is asked for where it is older and exists. */
export const readVersions = async (
  kind: Kind,
  { id, version }: { readonly id: Named; readonly version: string | undefined },
  signal: AbortSignal,
): Promise<VersionPage> => {
  const sortBy = { key: 'created_at', direction: Sort_Direction.DESCENDING };
  const newest = await listVersions(kind, { id, limit: MAX_VERSIONS, sortBy }, signal);
  if (version === undefined || !newest.hasOlder || newest.versions.some((each) => each.version === version))
    return newest;
  try {
    const older = await getVersion(kind, { ...id, version }, signal);
    return { ...newest, versions: [...newest.versions, older] };
  } catch (error) {
    if (error instanceof ServerFailure && error.status === NOT_FOUND) return newest;
    throw error;
  }
};
