import { create } from '@bufbuild/protobuf';

import {
  type TypedInterface,
  TypedInterfaceSchema,
  VariableMapSchema,
} from '../../../proto/gen/platformidl/core/interface_pb.js';
import { type Identifier, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { Binding, BindingData } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  type ArrayNode,
  type BranchNode,
  type IfBlock,
  type IfElseBlock,
  type Node,
  NodeSchema,
  type TaskNode,
  type WorkflowNode,
  type WorkflowTemplate,
} from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { END, idInside, START } from './node-walk.js';

// The request is not changed: changed messages are copied, the others are shared.

const resolvedData = (data: BindingData): BindingData => {
  const { value } = data;
  switch (value.case) {
    case 'promise':
      return { ...data, value: { case: 'promise', value: { ...value.value, nodeId: value.value.nodeId || START } } };
    case 'collection': {
      const bindings = value.value.bindings.map(resolvedData);
      return { ...data, value: { case: 'collection', value: { ...value.value, bindings } } };
    }
    case 'map': {
      const entries = Object.entries(value.value.bindings).map(([key, each]) => [key, resolvedData(each)] as const);
      return { ...data, value: { case: 'map', value: { ...value.value, bindings: Object.fromEntries(entries) } } };
    }
    default:
      return data;
  }
};

/** Makes promises of workflow inputs refer to the start node. */
const resolved = (bindings: readonly Binding[]): Binding[] =>
  bindings.map((each) => (each.binding ? { ...each, binding: resolvedData(each.binding) } : each));

const withBlockInside = (block: IfBlock, branchId: string): IfBlock =>
  block.thenNode ? { ...block, thenNode: laidOutInside(block.thenNode, branchId) } : block;

const withNodesInside = (ifElse: IfElseBlock, branchId: string): IfElseBlock => ({
  ...ifElse,
  ...(ifElse.case && { case: withBlockInside(ifElse.case, branchId) }),
  other: ifElse.other.map((block) => withBlockInside(block, branchId)),
  default:
    ifElse.default.case === 'elseNode'
      ? { case: 'elseNode', value: laidOutInside(ifElse.default.value, branchId) }
      : ifElse.default,
});

const laidOutBranch = (branch: BranchNode, branchId: string): BranchNode =>
  branch.ifElse ? { ...branch, ifElse: withNodesInside(branch.ifElse, branchId) } : branch;

/** Sorts the upstream ids: their order has no meaning, and clients send them in any order. */
const sortedUpstream = (node: Node): Node => ({ ...node, upstreamNodeIds: [...node.upstreamNodeIds].sort() });

/** A reference with the id that the registered version has: of the type that the field implies, without an `org`. */
const toRegistered = (id: Identifier, resourceType: ResourceType): Identifier => ({ ...id, resourceType, org: '' });

const taskReference = ({ reference }: TaskNode): TaskNode['reference'] =>
  reference.case ? { case: reference.case, value: toRegistered(reference.value, ResourceType.TASK) } : reference;

const workflowReference = ({ reference }: WorkflowNode): WorkflowNode['reference'] => {
  if (reference.case === undefined) return reference;
  const resourceType = reference.case === 'launchplanRef' ? ResourceType.LAUNCH_PLAN : ResourceType.WORKFLOW;
  return { case: reference.case, value: toRegistered(reference.value, resourceType) };
};

const laidOutTarget = (target: Node['target'], id: string): Node['target'] => {
  switch (target.case) {
    case 'branchNode':
      return { case: 'branchNode', value: laidOutBranch(target.value, id) };
    case 'arrayNode':
      return { case: 'arrayNode', value: laidOutArray(target.value) };
    case 'taskNode':
      return { case: 'taskNode', value: { ...target.value, reference: taskReference(target.value) } };
    case 'workflowNode':
      return { case: 'workflowNode', value: { ...target.value, reference: workflowReference(target.value) } };
    default:
      return target;
  }
};

/** The promises of an array node's inner node are not changed. */
const laidOutArray = (array: ArrayNode): ArrayNode => {
  const { node } = array;
  return node ? { ...array, node: { ...sortedUpstream(node), target: laidOutTarget(node.target, node.id) } } : array;
};

const laidOut = (node: Node): Node => ({
  ...sortedUpstream(node),
  inputs: resolved(node.inputs),
  target: laidOutTarget(node.target, node.id),
});

const laidOutInside = (node: Node, branchId: string): Node => laidOut({ ...node, id: idInside(branchId, node.id) });

const completeInterface = (typed: TypedInterface | undefined): TypedInterface => ({
  ...(typed ?? create(TypedInterfaceSchema)),
  inputs: typed?.inputs ?? create(VariableMapSchema),
  outputs: typed?.outputs ?? create(VariableMapSchema),
});

/**
 * The template of a compiled workflow: with a start and an end node, with references as the registered versions have
 * them, and with promises of workflow inputs that name the start node (not in the inner node of an array node).
 */
export const laidOutTemplate = (template: WorkflowTemplate): WorkflowTemplate => {
  const outputs = resolved(template.outputs);
  const ends = [create(NodeSchema, { id: START }), create(NodeSchema, { id: END, inputs: outputs })];
  return {
    ...template,
    ...(template.id && { id: toRegistered(template.id, ResourceType.WORKFLOW) }),
    interface: completeInterface(template.interface),
    nodes: [...ends, ...template.nodes.map(laidOut)],
    outputs,
    ...(template.failureNode && { failureNode: laidOut(template.failureNode) }),
  };
};
