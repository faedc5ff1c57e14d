import { type JsonObject } from '@bufbuild/protobuf';
import { type CompiledWorkflow, type ConnectionSet_IdList } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { type Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { VariableMapSchema } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { BindingSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  type Node,
  WorkflowMetadata_OnFailurePolicy,
  type WorkflowTemplate,
} from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { innerNodes } from '../../walk/graph-order.js';
import { withoutUndefined, protoJson } from './go-json.js';
import { nodeJson, type Tasks } from './node.js';
import { strippedInterface } from './stripped-types.js';

/** A node and all nodes in its branches. */
const withNested = (node: Node): readonly Node[] => [node, ...innerNodes(node).flatMap(withNested)];

const nodesJson = (nodes: readonly Node[], tasks: Tasks): JsonObject =>
  Object.fromEntries(nodes.flatMap(withNested).map((node) => [node.id, nodeJson(node, tasks)]));

const edges = (lists: Readonly<Record<string, ConnectionSet_IdList>> | undefined): Record<string, string[]> =>
  Object.fromEntries(Object.entries(lists ?? {}).map(([id, { ids }]) => [id, [...ids]]));

const workflowId = ({ project, domain, name }: Pick<Identifier, 'project' | 'domain' | 'name'>): string =>
  [project, domain, name].join(':');

/** The name of the failure policy. The engine cannot decode an object with an unknown name. */
const failurePolicy = (template: WorkflowTemplate | undefined): string => {
  const { FAIL_AFTER_EXECUTABLE_NODES_COMPLETE: complete } = WorkflowMetadata_OnFailurePolicy;
  return template?.metadata?.onFailure === complete ? 'FAIL_AFTER_EXECUTABLE_NODES_COMPLETE' : 'FAIL_IMMEDIATELY';
};

const outputsJson = ({ interface: typed }: WorkflowTemplate): JsonObject => {
  const outputs = typed && strippedInterface(typed).outputs;
  return outputs ? protoJson(VariableMapSchema, outputs) : {};
};

const templateJson = (template: WorkflowTemplate, tasks: Tasks): JsonObject =>
  withoutUndefined({
    id: template.id && workflowId(template.id),
    nodes: nodesJson(template.nodes, tasks),
    onFailure: template.failureNode && nodeJson(template.failureNode, tasks),
    outputs: outputsJson(template),
    outputBindings: template.outputs.map((binding) => protoJson(BindingSchema, binding)),
    onFailurePolicy: failurePolicy(template),
  });

/**
 * Makes the graph of a workflow or sub-workflow in the format of the engine.
 *
 * @throws {UnfitLaunch} as {@link nodeJson}.
 */
export const graphJson = ({ template, connections }: CompiledWorkflow, tasks: Tasks): JsonObject => {
  const downstream = edges(connections?.downstream);
  return {
    ...(template && templateJson(template, tasks)),
    connections: downstream,
    edges: { downstream, upstream: edges(connections?.upstream) },
  };
};
