import { type CompiledWorkflow } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { type ExecutionError, NodeExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  NodeSchema,
  type Node,
  WorkflowMetadata_OnFailurePolicy as Policy,
} from '../../proto/gen/platformidl/core/workflow_pb.js';
import { create } from '@bufbuild/protobuf';
import { END_NODE, nodeInputs, START_NODE, type NodeOutputs } from './values/bindings.js';
import { skip } from './nodes/branch-node.js';
import { type Effect, type WalkOutcome, type Walk } from './effects.js';
import { type GraphOrder, orderOf } from './graph-order.js';
import { type OpenEntities } from './ledger.js';
import { type Literals } from './values/literal-values.js';
import { abortOpen, reportNode, withInputs, withOutputs } from './reports.js';
import { nodeAt, type GraphPosition, type ExecutionWalk } from './run.js';

function* walkEnd(run: ExecutionWalk, position: GraphPosition, node: Node, values: NodeOutputs): Walk<WalkOutcome> {
  const at = nodeAt(position, node);
  const outputs = nodeInputs(node.inputs, values);
  yield* reportNode(run, at, Phase.QUEUED, withInputs(outputs));
  yield* reportNode(run, at, Phase.SUCCEEDED, withOutputs(outputs));
  return { kind: 'succeeded', outputs };
}

function* walkSkipped(run: ExecutionWalk, position: GraphPosition, node: Node): Walk<WalkOutcome> {
  yield* skip(run, position, node);
  return { kind: 'skipped' };
}

/** Progress of a graph's walk. */
type Progress = {
  readonly order: GraphOrder;
  readonly values: Map<string, Literals>;
  readonly waitingFor: Map<string, number>;
  readonly skipped: Set<string>;
  readonly active: Map<string, Walk<WalkOutcome>>;
  error?: ExecutionError;
};

const begin = (order: GraphOrder, inputs: Literals): Progress => ({
  order,
  values: new Map([[START_NODE, inputs]]),
  waitingFor: new Map([...order.upstream].map(([id, before]) => [id, before.size])),
  skipped: new Set(),
  active: new Map(),
});

const walkOf = (run: ExecutionWalk, position: GraphPosition, node: Node, progress: Progress): Walk<WalkOutcome> => {
  if (node.id === END_NODE) return walkEnd(run, position, node, progress.values);
  const isSkipped = [...(progress.order.upstream.get(node.id) ?? [])].some((each) => progress.skipped.has(each));
  return isSkipped ? walkSkipped(run, position, node) : run.walkNode(run, position, node, progress.values);
};

const start = (run: ExecutionWalk, position: GraphPosition, progress: Progress, ids: Iterable<string>): void => {
  for (const id of ids) {
    const node = progress.order.nodes.get(id);
    if (node) progress.active.set(id, walkOf(run, position, node, progress));
  }
};

/**
 * Records the result of a node.
 *
 * @returns the nodes that need not wait any longer.
 */
const recordEnd = (progress: Progress, id: string, end: WalkOutcome): readonly string[] => {
  progress.active.delete(id);
  if (end.kind === 'failed') {
    progress.error ??= end.error;
    return [];
  }
  if (end.kind === 'skipped') progress.skipped.add(id);
  else progress.values.set(id, end.outputs);
  return (progress.order.downstream.get(id) ?? []).filter((each) => {
    const left = (progress.waitingFor.get(each) ?? 0) - 1;
    progress.waitingFor.set(each, left);
    return left === 0;
  });
};

/** One round: every active node takes one step. */
const advance = (progress: Progress): { readonly effects: readonly Effect[]; readonly ready: readonly string[] } => {
  const effects: Effect[] = [];
  const ready: string[] = [];
  for (const [id, walk] of progress.active) {
    const step = walk.next();
    if (step.done === true) ready.push(...recordEnd(progress, id, step.value));
    else effects.push(...step.value);
  }
  return { effects, ready };
};

/** The open entities of a graph, except its failure node, which an earlier walk may have started. */
const openBeside = (run: ExecutionWalk, position: GraphPosition, { template }: CompiledWorkflow): OpenEntities =>
  run.ledger.open(position.parent, template?.failureNode && nodeAt(position, template.failureNode).id);

/** Walks a graph from its start node to its end node, or to the failure that ends it under its failure policy. */
export function* walkGraph(
  run: ExecutionWalk,
  position: GraphPosition,
  workflow: CompiledWorkflow,
  inputs: Literals,
): Walk<WalkOutcome> {
  const order = orderOf(workflow);
  const progress = begin(order, inputs);
  const continuesAfterFailure = workflow.template?.metadata?.onFailure === Policy.FAIL_AFTER_EXECUTABLE_NODES_COMPLETE;
  yield* reportNode(
    run,
    nodeAt(position, create(NodeSchema, { id: START_NODE })),
    Phase.SUCCEEDED,
    withOutputs(inputs),
  );
  start(
    run,
    position,
    progress,
    [...order.nodes.keys()].filter((id) => progress.waitingFor.get(id) === 0),
  );
  while (progress.active.size > 0) {
    const { effects, ready } = advance(progress);
    if (effects.length > 0) yield effects;
    if (progress.error && !continuesAfterFailure) break;
    start(run, position, progress, ready);
  }
  if (!progress.error) return { kind: 'succeeded', outputs: progress.values.get(END_NODE) ?? {} };
  yield* abortOpen(run, openBeside(run, position, workflow), progress.error);
  return { kind: 'failed', error: progress.error };
}
