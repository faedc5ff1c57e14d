import {
  ExecutionMetadata_ExecutionMode as Mode,
  type ExecutionSpec,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import type { WorkflowExecutionConfig } from '../../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { EngineSettings } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { assertQualityOfService } from '../../kernel/values/quality-of-service.js';
import { invalid, RpcError } from '../../kernel/rpc.js';
import { resolveConfig, withProjectLabels } from '../config.js';
import { assignedPool, type EngineSources, resolveEngineSettings } from '../engine-settings.js';
import type { Platform } from '../platform.js';
import type { Attributes, Projects, StreamRevision } from '../ports.js';
import { uncountedLabels } from './passed-on-labels.js';
import type { Target } from './target.js';
import type { ExecutionId } from '../../kernel/execution-id.js';

export type ConfigServices = {
  readonly projects: Projects;
  readonly attributes: Attributes;
  readonly platform: Platform;
};

/** The execution to configure, its caller, the launch plan or task that it runs, and the label in its parent's spec. */
export type ConfigContext = {
  readonly id: ExecutionId;
  readonly principal: string;
  readonly target: Target;
  readonly inherited: { readonly clusterLabel: string | undefined };
};

/**
 * The configuration and engine settings of an execution, with the revisions of the streams that they were read from.
 */
export type ResolvedConfiguration = {
  readonly config: WorkflowExecutionConfig;
  readonly engine: EngineSettings;
  readonly read: readonly StreamRevision[];
};

/**
 * Checks the configuration fields of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT.
 */
export const assertConfig = ({ metadata, maxParallelism, qualityOfService }: ExecutionSpec): void => {
  const mode = metadata?.mode ?? Mode.MANUAL;
  // The enum is open: a client may send any number.
  if (!Object.hasOwn(Mode, mode)) throw invalid('spec.metadata.mode', `${mode} is not a mode`);
  if (maxParallelism < 0) throw invalid('max_parallelism', `${maxParallelism} is below 0`);
  assertQualityOfService(qualityOfService);
};

const assertPool = (sources: EngineSources, { project, domain }: ExecutionId): void => {
  const requested = sources.spec.clusterAssignment?.clusterPoolName ?? '';
  const assigned = assignedPool(sources);
  if (requested !== '' && assigned !== '' && requested !== assigned)
    throw new RpcError(
      'INVALID_ARGUMENT',
      `execution with project [${project}] and domain [${domain}] cannot run on cluster pool [${requested}]: ` +
        `it is assigned to [${assigned}]`,
    );
};

type Entries = { readonly values: object } | undefined;

const assertEntries = (field: string, map: Entries, most: number, uncounted: readonly string[] = []): void => {
  const count = Object.keys(map?.values ?? {}).filter((key) => !uncounted.includes(key)).length;
  if (most > 0 && count > most)
    throw new RpcError('INVALID_ARGUMENT', `${field} has too many entries [${count} > ${most}]`);
};

/**
 * Resolves the configuration of an execution from its request, its launch plan, the attributes and the platform.
 *
 * @throws {RpcError} INVALID_ARGUMENT when there are too many labels or annotations, or the requested cluster pool is
 *   not the assigned one.
 */
export const resolveConfiguration = async (
  { projects, attributes: recorded, platform }: ConfigServices,
  spec: ExecutionSpec,
  { id, principal, target, inherited }: ConfigContext,
): Promise<ResolvedConfiguration> => {
  const { project, domain } = id;
  const isPlan = target.kind === 'launch-plan';
  const plan = isPlan ? target.spec : undefined;
  const attributes = await recorded.of({ project, domain, workflow: target.workflowId.name });
  const status = await projects.statusOf(project, domain);
  const sources: EngineSources = {
    spec,
    plan,
    workflowQuality: isPlan ? target.qualityOfService : undefined,
    attributes,
    platform,
    domain,
    inheritedLabel: inherited.clusterLabel ?? '',
  };
  const resolved = resolveConfig({ spec, plan, attributes: attributes.configs, platform: platform.config, principal });
  // FlyteAdmin limits labels and annotations only for executions of launch plans, not for those of a single task. It
  // does not count the labels of the project.
  if (isPlan) {
    assertEntries('labels', resolved.labels, platform.maxLabels, uncountedLabels(spec));
    assertEntries('annotations', resolved.annotations, platform.maxAnnotations);
  }
  assertPool(sources, id);
  const config = withProjectLabels(resolved, status.kind === 'active' ? status.labels : {});
  const places = [status.kind === 'active' ? status.read : undefined, ...target.read, attributes.read];
  return { config, engine: resolveEngineSettings(sources), read: places.filter((place) => place !== undefined) };
};
