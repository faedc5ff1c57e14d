import { create } from '@bufbuild/protobuf';

import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { ParameterMap, VariableMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import {
  type Binding,
  BindingSchema,
  type RetryStrategy,
  RetryStrategySchema,
} from '../../proto/gen/platformidl/core/literals_pb.js';
import type { TaskTemplate } from '../../proto/gen/platformidl/core/tasks_pb.js';
import {
  type Node,
  NodeSchema,
  type WorkflowTemplate,
  WorkflowTemplateSchema,
} from '../../proto/gen/platformidl/core/workflow_pb.js';
import { expectedInputs } from './launch-plan-inputs.js';

/** A workflow around one task, and the expected inputs and outputs of its launch plan. */
export type SingleTaskWorkflow = {
  readonly template: WorkflowTemplate;
  readonly expectedInputs: ParameterMap;
  readonly expectedOutputs: VariableMap | undefined;
};

/** The retries of a task that states none, as in FlyteAdmin. */
const DEFAULT_RETRIES = 3;

/** Makes a node id from a task name. Node ids become names in Kubernetes, which allows 63 of these characters. */
const nodeIdOf = (taskName: string): string => taskName.slice(-63).replace(/[^A-Za-z0-9-]/g, '') || 'n0';

/**
 * Binds each variable to the output of the same name of the node, sorted by name. An empty node id means the workflow's
 * inputs.
 */
const bindings = (variables: VariableMap | undefined, nodeId: string): Binding[] =>
  Object.keys(variables?.variables ?? {})
    .sort()
    .map((name) =>
      create(BindingSchema, { var: name, binding: { value: { case: 'promise', value: { nodeId, var: name } } } }),
    );

const nodeOf = ({ id, interface: typed, metadata }: TaskTemplate): Node => {
  const nodeId = nodeIdOf(id?.name ?? '');
  const retries: RetryStrategy = metadata?.retries ?? create(RetryStrategySchema, { retries: DEFAULT_RETRIES });
  return create(NodeSchema, {
    id: nodeId,
    metadata: { name: nodeId, retries },
    inputs: bindings(typed?.inputs, ''),
    target: { case: 'taskNode', value: { reference: id ? { case: 'referenceId', value: id } : { case: undefined } } },
  });
};

/** Makes the workflow `.flytegen.<task>` that runs a single task and has the task's inputs and outputs. */
export const singleTaskWorkflow = (task: TaskTemplate): SingleTaskWorkflow => {
  const { id, interface: typed } = task;
  const node = nodeOf(task);
  const { project = '', domain = '', name = '', version = '' } = id ?? {};
  const workflowId = { resourceType: ResourceType.WORKFLOW, project, domain, name: `.flytegen.${name}`, version };
  const template = create(WorkflowTemplateSchema, {
    id: create(IdentifierSchema, workflowId),
    ...(typed && { interface: typed }),
    nodes: [node],
    outputs: bindings(typed?.outputs, node.id),
  });
  const planned = { workflowInputs: typed?.inputs, defaultInputs: undefined, fixedInputs: undefined };
  return { template, expectedInputs: expectedInputs(planned), expectedOutputs: typed?.outputs };
};
