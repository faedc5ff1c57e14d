import { type CompiledWorkflowClosure } from '../../proto/gen/platformidl/core/compiler_pb.js';
import {
  type ExecutionError,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { type Walk } from './effects.js';
import { walkFailureNode } from './nodes/failure-node.js';
import { walkGraph } from './graph.js';
import { type Literals } from './values/literal-values.js';
import { walkNode } from './nodes/node.js';
import { abortOpen, failure, reportWorkflow, withError, withOutputs } from './reports.js';
import { definitionsOf, type GraphPosition, type ExecutionWalk } from './run.js';

/**
 * Completes the input of a walk with the functions that walk a node and a graph: they call each other through it, so
 * that their modules need not import each other.
 */
export const createRun = (parts: Omit<ExecutionWalk, 'walkNode' | 'walkGraph'>): ExecutionWalk => ({
  ...parts,
  walkNode,
  walkGraph,
});

/** Walks an execution from QUEUED to SUCCEEDED or FAILED. */
export function* walkExecution(run: ExecutionWalk, closure: CompiledWorkflowClosure, inputs: Literals): Walk<Phase> {
  const workflow = closure.primary;
  if (!workflow) throw new TypeError(`the workflow of ${run.id.name} has no compiled form`);
  const position: GraphPosition = { parent: '', definitions: definitionsOf(closure), isInDynamic: false };
  yield* reportWorkflow(run, Phase.QUEUED);
  yield* reportWorkflow(run, Phase.RUNNING);
  const end = yield* walkGraph(run, position, workflow, inputs);
  if (end.kind !== 'failed' && run.known.workflowPhase === Phase.FAILING) {
    // An earlier walk has reported the failure. The control plane keeps its error, and accepts no success any more.
    yield* reportWorkflow(run, Phase.FAILED);
    return Phase.FAILED;
  }
  if (end.kind === 'succeeded') {
    yield* reportWorkflow(run, Phase.SUCCEEDING);
    yield* reportWorkflow(run, Phase.SUCCEEDED, withOutputs(end.outputs));
    return Phase.SUCCEEDED;
  }
  const error = end.kind === 'failed' ? end.error : failure('Skipped', 'the graph was skipped');
  yield* reportWorkflow(run, Phase.FAILING, withError(error));
  yield* walkFailureNode(run, position, { workflow, inputs, error });
  yield* reportWorkflow(run, Phase.FAILED, withError(error));
  return Phase.FAILED;
}

/** Fails an execution that cannot go on: aborts what is open, then reports FAILED. */
export function* walkFailure(run: ExecutionWalk, error: ExecutionError): Walk<Phase> {
  yield* abortOpen(run, run.ledger.open(''), error);
  yield* reportWorkflow(run, Phase.FAILED, withError(error));
  return Phase.FAILED;
}

/** Ends an execution that was requested to abort: aborts what is open, then reports ABORTED. */
export function* walkAbort(run: ExecutionWalk, cause: string): Walk<Phase> {
  const everything = run.ledger.open('');
  yield* abortOpen(run, everything, failure('Aborted', cause || 'the execution was aborted'));
  yield* reportWorkflow(run, Phase.ABORTED);
  return Phase.ABORTED;
}
