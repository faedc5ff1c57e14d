import type { ClusterAssignment } from '../../proto/gen/platformidl/admin/cluster_assignment_pb.js';
import {
  type ExecutionClusterLabel,
  type ExecutionQueueAttributes,
  MatchableResource,
  type MatchingAttributes,
  type PluginOverrides,
  type TaskResourceAttributes,
  type WorkflowExecutionConfig,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { QualityOfService } from '../../proto/gen/platformidl/core/execution_pb.js';
import { type AttributesState, mostSpecificRow, rowAt, type AttributeScope } from '../attributes/state.js';
import type { StreamName } from '../kernel/stream.js';
import type { ReadAttributes, RecordedAttributes } from './recorded-attributes.js';

/** The matchable attributes for a new execution. */
export type LaunchAttributes = {
  /** The most specific first. */
  readonly configs: readonly WorkflowExecutionConfig[];
  readonly taskResources: TaskResourceAttributes | undefined;
  readonly qualityOfService: QualityOfService | undefined;
  readonly clusterLabel: ExecutionClusterLabel | undefined;
  readonly clusterAssignment: ClusterAssignment | undefined;
  readonly queue: ExecutionQueueAttributes | undefined;
  readonly pluginOverrides: PluginOverrides | undefined;
  /** The stream and revision that the attributes were read at; absent where the project has no such stream. */
  readonly read: { readonly stream: StreamName; readonly revision: bigint } | undefined;
};

type Target = Extract<MatchingAttributes['target'], { readonly case: string }>;
type Values = { readonly [Each in Target as Each['case']]: Each['value'] };

/** The value of attributes when they are of the given kind. */
const valueOf = <Name extends keyof Values>(
  attributes: MatchingAttributes | undefined,
  name: Name,
): Values[Name] | undefined => {
  const target = attributes?.target;
  return target?.case === name ? (target.value as Values[Name]) : undefined;
};

/**
 * The execution configurations at a scope: the most specific one and the project's own. Levels between the two do not
 * count.
 */
const configsAt = (state: AttributesState, scope: AttributeScope): readonly WorkflowExecutionConfig[] => {
  const type = MatchableResource.WORKFLOW_EXECUTION_CONFIG;
  const rows = [mostSpecificRow(state, type, scope), rowAt(state, type, { ...scope, domain: '', workflow: '' })];
  return [...new Set(rows)].flatMap((row) => valueOf(row?.attributes, 'workflowExecutionConfig') ?? []);
};

const attributesAt = ({ stream, state, revision }: ReadAttributes, scope: AttributeScope): LaunchAttributes => {
  const best = (type: MatchableResource): MatchingAttributes | undefined =>
    mostSpecificRow(state, type, scope)?.attributes;
  const assignment = mostSpecificRow(state, MatchableResource.CLUSTER_ASSIGNMENT, { ...scope, workflow: '' });
  return {
    configs: configsAt(state, scope),
    taskResources: valueOf(best(MatchableResource.TASK_RESOURCE), 'taskResourceAttributes'),
    qualityOfService: valueOf(best(MatchableResource.QUALITY_OF_SERVICE_SPECIFICATION), 'qualityOfService'),
    clusterLabel: valueOf(best(MatchableResource.EXECUTION_CLUSTER_LABEL), 'executionClusterLabel'),
    clusterAssignment: valueOf(assignment?.attributes, 'clusterAssignment'),
    queue: valueOf(best(MatchableResource.EXECUTION_QUEUE), 'executionQueueAttributes'),
    pluginOverrides: valueOf(best(MatchableResource.PLUGIN_OVERRIDE), 'pluginOverrides'),
    read: revision < 0n ? undefined : { stream, revision },
  };
};

/** Implements the port through which launching reads the attributes. */
export const launchAttributes = (
  recorded: Pick<RecordedAttributes, 'read'>,
): { of(scope: AttributeScope): Promise<LaunchAttributes> } => ({
  of: async (scope) => attributesAt(await recorded.read(scope.project), scope),
});

/** Makes the reader of a project and domain's task resources, which limit what tasks can be registered there. */
export const registrationResources =
  (recorded: Pick<RecordedAttributes, 'read'>) =>
  async (project: string, domain: string): Promise<TaskResourceAttributes | undefined> => {
    const { state } = await recorded.read(project);
    const row = mostSpecificRow(state, MatchableResource.TASK_RESOURCE, { project, domain, workflow: '' });
    return valueOf(row?.attributes, 'taskResourceAttributes');
  };
