import { create } from '@bufbuild/protobuf';
import {
  type CompiledWorkflowClosure,
  CompiledWorkflowClosureSchema,
} from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type Binding, BindingSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type TaskTemplate } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { type Node, NodeSchema } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { END_NODE, START_NODE } from '../values/bindings.js';
import { awaitAnswer, type WalkOutcome, type Walk } from '../effects.js';
import { type Literals } from '../values/literal-values.js';
import { reportNode } from '../reports.js';
import { definitionsOf, type NodeAt, type GraphPosition, type ExecutionWalk } from '../run.js';
import { attemptAt, beginAttempt, endAttempt } from './task-attempt.js';

const promise = (name: string, nodeId: string): Binding =>
  create(BindingSchema, { var: name, binding: { value: { case: 'promise', value: { nodeId, var: name } } } });

const instanceOf = (template: TaskTemplate, reference: Identifier, id: string): Node =>
  create(NodeSchema, {
    id,
    metadata: { name: reference.name },
    inputs: Object.keys(template.interface?.inputs?.variables ?? {}).map((name) => promise(name, START_NODE)),
    target: { case: 'taskNode', value: { reference: { case: 'referenceId', value: reference } } },
  });

/** Stands in for the graph that only the task's own code could make: two instances of the task, in parallel. */
const twoInstances = (template: TaskTemplate, id: Identifier): CompiledWorkflowClosure => {
  const outputs = Object.keys(template.interface?.outputs?.variables ?? {}).map((name) => promise(name, 'dn1'));
  return create(CompiledWorkflowClosureSchema, {
    primary: {
      template: {
        id: {
          ...id,
          $typeName: 'platformidl.core.Identifier',
          resourceType: ResourceType.WORKFLOW,
          name: `dynamic_${id.name}`,
        },
        metadata: {},
        ...(template.interface ? { interface: template.interface } : {}),
        nodes: [
          create(NodeSchema, { id: START_NODE }),
          create(NodeSchema, { id: END_NODE, inputs: outputs }),
          instanceOf(template, id, 'dn0'),
          instanceOf(template, id, 'dn1'),
        ],
        outputs,
      },
      connections: {
        downstream: {
          [START_NODE]: { ids: ['dn0', 'dn1'] },
          dn0: { ids: [END_NODE] },
          dn1: { ids: [END_NODE] },
        },
        upstream: {
          dn0: { ids: [START_NODE] },
          dn1: { ids: [START_NODE] },
          [END_NODE]: { ids: ['dn0', 'dn1'] },
        },
      },
    },
    tasks: [{ template }],
  });
};

/** True when a task's template says that it makes its graph at run time; templates of the Python SDK do not say so. */
const isMarkedDynamic = (template: TaskTemplate): boolean =>
  template.type.includes('dynamic') ||
  template.config['dynamic'] === 'true' ||
  template.metadata?.tags['dynamic'] === 'true';

/** The graph that a task makes at run time; `undefined` for a plain task. */
export const dynamicClosureOf = (
  run: ExecutionWalk,
  position: GraphPosition,
  template: TaskTemplate,
): CompiledWorkflowClosure | undefined => {
  const { id } = template;
  if (!id || position.plainTask === id.name) return undefined;
  return run.dynamicClosure(id.name) ?? (isMarkedDynamic(template) ? twoInstances(template, id) : undefined);
};

/** Walks a node whose task makes a graph; the graph is walked below the node. */
export function* walkDynamic(
  run: ExecutionWalk,
  at: NodeAt,
  dynamic: { readonly template: TaskTemplate; readonly closure: CompiledWorkflowClosure },
  inputs: Literals,
): Walk<WalkOutcome> {
  const { template } = dynamic;
  const attemptRef = attemptAt(at, template, 0);
  yield* beginAttempt(run, attemptRef, inputs);
  yield* reportNode(run, at, Phase.RUNNING, { isParent: true });
  const closure = yield* reportedClosure(run, at, dynamic.closure);
  yield* reportNode(run, at, Phase.DYNAMIC_RUNNING, { isParent: true, isDynamic: true, ...withClosure(at, closure) });
  const position: GraphPosition = {
    parent: at.id,
    definitions: definitionsOf(closure),
    isInDynamic: true,
    plainTask: template.id?.name ?? '',
  };
  if (!closure.primary) throw new TypeError(`the dynamic closure of ${at.id} has no primary workflow`);
  const end = yield* run.walkGraph(run, position, closure.primary, inputs);
  yield* endAttempt(run, attemptRef, end);
  return end;
}

/** The closure that an earlier walk has reported for the node, which may differ from `compiled`. */
function* reportedClosure(
  run: ExecutionWalk,
  at: NodeAt,
  compiled: CompiledWorkflowClosure,
): Walk<CompiledWorkflowClosure> {
  if (run.known.nodes.get(at.id)?.phase !== Phase.DYNAMIC_RUNNING) return compiled;
  const found = yield* awaitAnswer<CompiledWorkflowClosure | undefined>((reply) => ({
    kind: 'read-dynamic',
    nodeId: at.id,
    reply,
  }));
  return found ?? compiled;
}

const withClosure = (at: NodeAt, closure: CompiledWorkflowClosure): Parameters<typeof reportNode>[3] => ({
  targetMetadata: {
    case: 'taskNodeMetadata',
    value: {
      dynamicWorkflow: {
        compiledWorkflow: closure,
        dynamicJobSpecUri: `s3://simulated-data/${at.id}/futures.pb`,
        ...(closure.primary?.template?.id ? { id: closure.primary.template.id } : {}),
      },
    },
  },
});
