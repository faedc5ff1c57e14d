import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type Node, type TaskNode } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { walkArray } from './array-node.js';
import { nodeInputs, type NodeOutputs } from '../values/bindings.js';
import { walkBranch } from './branch-node.js';
import { dynamicClosureOf, walkDynamic } from './dynamic-node.js';
import { awaitAnswer, type WalkOutcome, type EarlierResult, type Walk } from '../effects.js';
import { walkGate } from './gate-node.js';
import { isNodeEnd } from '../ledger.js';
import { type Literals } from '../values/literal-values.js';
import { walkLaunchPlan, walkSubWorkflow } from './nested-nodes.js';
import { failure, reportNode, withError, withInputs, withOutputs } from '../reports.js';
import {
  definitionKey,
  type EarlierNode,
  type NodeAt,
  nodeAt,
  type GraphPosition,
  type ExecutionWalk,
} from '../run.js';
import { walkTask } from './task-node.js';

type Given = { readonly inputs: Literals; readonly values: NodeOutputs };

function* walkTaskNode(run: ExecutionWalk, at: NodeAt, task: TaskNode, inputs: Literals): Walk<WalkOutcome> {
  const reference = task.reference.value;
  const template = at.position.definitions.tasks.get(definitionKey(reference));
  if (!template)
    return {
      kind: 'failed',
      error: failure('TaskMissing', `the task of node ${at.id} is not in the compiled workflow closure`),
    };
  const closure = dynamicClosureOf(run, at.position, template);
  return yield* closure ? walkDynamic(run, at, { template, closure }, inputs) : walkTask(run, at, template, inputs);
}

function* walkTarget(run: ExecutionWalk, at: NodeAt, given: Given): Walk<WalkOutcome> {
  const { inputs } = given;
  const target = at.node.target;
  switch (target.case) {
    case 'taskNode':
      return yield* walkTaskNode(run, at, target.value, inputs);
    case 'branchNode':
      return yield* walkBranch(run, at, target.value, given);
    case 'gateNode':
      return yield* walkGate(run, at, target.value, inputs);
    case 'arrayNode':
      return yield* walkArray(run, at, target.value, inputs);
    case 'workflowNode': {
      const { case: kind, value } = target.value.reference;
      if (kind === 'launchplanRef') return yield* walkLaunchPlan(run, at, value, inputs);
      if (kind === 'subWorkflowRef') return yield* walkSubWorkflow(run, at, value, inputs);
      break;
    }
    case undefined:
  }
  return { kind: 'failed', error: failure('NoTarget', `${at.id} has nothing to run`) };
}

/** The result of a node that an earlier walk has ended. */
function* remembered(at: NodeAt, known: EarlierNode): Walk<WalkOutcome> {
  if (known.phase === Phase.SKIPPED) return { kind: 'skipped' };
  if (known.phase === Phase.SUCCEEDED || known.phase === Phase.RECOVERED) {
    const outputs = yield* awaitAnswer<Literals>((reply) => ({ kind: 'read-outputs', nodeId: at.id, reply }));
    return { kind: 'succeeded', outputs };
  }
  return { kind: 'failed', error: known.error ?? failure('Failed', `${at.id} had failed before`) };
}

function* recover(run: ExecutionWalk, at: NodeAt, inputs: Literals): Walk<WalkOutcome | undefined> {
  const found = yield* awaitAnswer<EarlierResult | undefined>((reply) => ({ kind: 'recall', nodeId: at.id, reply }));
  if (!found) return undefined;
  yield* reportNode(run, at, Phase.RECOVERED, {
    ...withInputs(inputs),
    ...withOutputs(found.outputs),
    ...(found.child ? { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: found.child } } } : {}),
  });
  return { kind: 'succeeded', outputs: found.outputs };
}

function* settle(run: ExecutionWalk, at: NodeAt, end: WalkOutcome): Walk<WalkOutcome> {
  if (end.kind === 'succeeded') yield* reportNode(run, at, Phase.SUCCEEDED, withOutputs(end.outputs));
  if (end.kind === 'skipped') yield* reportNode(run, at, Phase.SKIPPED);
  if (end.kind === 'failed') {
    if (end.isTimeout !== true) yield* reportNode(run, at, Phase.FAILING, withError(end.error));
    yield* reportNode(run, at, end.isTimeout === true ? Phase.TIMED_OUT : Phase.FAILED, withError(end.error));
  }
  return end;
}

/** Renames outputs to the aliases that the node gives them. */
const aliased = (node: Node, end: WalkOutcome): WalkOutcome => {
  if (end.kind !== 'succeeded' || node.outputAliases.length === 0) return end;
  const names = new Map(node.outputAliases.map((each) => [each.var, each.alias]));
  const outputs = Object.entries(end.outputs).map(([name, value]) => [names.get(name) ?? name, value] as const);
  return { kind: 'succeeded', outputs: Object.fromEntries(outputs) };
};

/** Walks one node of any kind to its end, continuing from what is known of it. */
export function* walkNode(
  run: ExecutionWalk,
  position: GraphPosition,
  node: Node,
  values: NodeOutputs,
): Walk<WalkOutcome> {
  const at = nodeAt(position, node);
  const known = run.known.nodes.get(at.id);
  if (known && isNodeEnd(known.phase)) return yield* remembered(at, known);
  const inputs = nodeInputs(node.inputs, values);
  const recovered = run.isRecovery && !known ? yield* recover(run, at, inputs) : undefined;
  if (recovered) return recovered;
  const isArray = node.target.case === 'arrayNode';
  yield* reportNode(run, at, Phase.QUEUED, { ...withInputs(inputs), isArray });
  return yield* settle(run, at, aliased(node, yield* walkTarget(run, at, { inputs, values })));
}
