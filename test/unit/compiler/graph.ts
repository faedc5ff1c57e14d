import { create, type MessageInitShape } from '@bufbuild/protobuf';

import { CompiledTaskSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { IdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { TypedInterfaceSchema } from '../../../proto/gen/platformidl/core/interface_pb.js';
import {
  type Binding,
  type BindingData,
  BindingDataSchema,
  BindingSchema,
} from '../../../proto/gen/platformidl/core/literals_pb.js';
import type { LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import {
  type Node,
  NodeSchema,
  type WorkflowTemplate,
  WorkflowTemplateSchema,
} from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { type CompiledOrErrors, compileWorkflow } from '../../../services/compiler/workflow.js';
import { interfaceText } from './interface-text.js';

type Variables = Readonly<Record<string, LiteralType>>;

/** The identifier of a definition of this name, in one project, domain and version. */
export const idOf = (name: string, resourceType = ResourceType.TASK) =>
  create(IdentifierSchema, { resourceType, project: 'p', domain: 'd', name, version: 'v' });

/** An interface with these inputs and outputs. */
export const typed = (inputs: Variables, outputs: Variables) =>
  create(TypedInterfaceSchema, {
    inputs: { variables: Object.fromEntries(Object.entries(inputs).map(([name, type]) => [name, { type }])) },
    outputs: { variables: Object.fromEntries(Object.entries(outputs).map(([name, type]) => [name, { type }])) },
  });

const data = (value: BindingData['value']): BindingData => create(BindingDataSchema, { value });

/**
 * A binding to `n0.o0`, an output of a node, or to `.x`, an input of the workflow; `path` leads to a part of its value,
 * by fields and indexes.
 */
export const promise = (text: string, ...path: (string | number)[]): BindingData =>
  create(BindingDataSchema, {
    value: {
      case: 'promise',
      value: {
        nodeId: text.slice(0, text.indexOf('.')),
        var: text.slice(text.indexOf('.') + 1),
        attrPath: path.map((each) => ({
          value:
            typeof each === 'number'
              ? { case: 'intValue' as const, value: each }
              : { case: 'stringValue' as const, value: each },
        })),
      },
    },
  });

/** A binding to an integer or a text. */
export const constant = (value: bigint | string): BindingData =>
  create(BindingDataSchema, {
    value: {
      case: 'scalar',
      value: {
        value: {
          case: 'primitive',
          value: {
            value: typeof value === 'bigint' ? { case: 'integer', value } : { case: 'stringValue', value },
          },
        },
      },
    },
  });

/** A binding to a list. */
export const many = (...bindings: BindingData[]): BindingData =>
  data({ case: 'collection', value: { $typeName: 'platformidl.core.BindingDataCollection', bindings } });

/** Bindings by the name of the variable. */
export const bindings = (bound: Readonly<Record<string, BindingData>>): Binding[] =>
  Object.entries(bound).map(([name, binding]) => create(BindingSchema, { var: name, binding }));

/** A node with a target of any kind; `upstreamNodeIds` are nodes that it waits for without taking data from them. */
export const node = (
  id: string,
  target: MessageInitShape<typeof NodeSchema>['target'],
  bound: Readonly<Record<string, BindingData>> = {},
  upstreamNodeIds: string[] = [],
): Node => create(NodeSchema, { id, ...(target && { target }), inputs: bindings(bound), upstreamNodeIds });

/** A node that runs a task, which is named after its interface (see {@link compile}). */
export const taskNode = (
  id: string,
  task: string,
  bound: Readonly<Record<string, BindingData>> = {},
  upstreamNodeIds: string[] = [],
): Node =>
  node(
    id,
    { case: 'taskNode', value: { reference: { case: 'referenceId', value: idOf(task) } } },
    bound,
    upstreamNodeIds,
  );

/** A workflow of these nodes, without inputs and outputs unless `rest` has an interface. */
export const workflow = (
  nodes: Node[],
  rest: Omit<MessageInitShape<typeof WorkflowTemplateSchema>, 'nodes' | '$typeName'> = {},
): WorkflowTemplate => create(WorkflowTemplateSchema, { id: idOf('w', ResourceType.WORKFLOW), ...rest, nodes });

/** Compiles with tasks that are named after their interface: `integer a, string b > integer o`. */
export const compile = (template: WorkflowTemplate, subWorkflows: readonly WorkflowTemplate[] = []): CompiledOrErrors =>
  compileWorkflow({
    template,
    subWorkflows,
    task: (id) => {
      const found = interfaceText(id.name);
      return found && create(CompiledTaskSchema, { template: { id, interface: typed(...found) } });
    },
    launchPlan: () => undefined,
  });

/** `Code node` of each error; none when the workflow compiles. */
export const errorsOf = (template: WorkflowTemplate, subWorkflows: readonly WorkflowTemplate[] = []): string[] => {
  const result = compile(template, subWorkflows);
  return 'errors' in result ? result.errors.map(({ code, nodeId }) => `${code} ${nodeId}`) : [];
};
