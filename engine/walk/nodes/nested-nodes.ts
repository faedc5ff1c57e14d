import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  type Identifier,
  type WorkflowExecutionIdentifier,
  WorkflowExecutionIdentifierSchema,
} from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { create } from '@bufbuild/protobuf';
import { awaitAnswer, type WalkOutcome, type Walk } from '../effects.js';
import { childExecutionName, PARENT_ATTEMPT } from '../ids.js';
import { type Literals } from '../values/literal-values.js';
import { failure, reportNode } from '../reports.js';
import { definitionKey, type NodeAt, type GraphPosition, type ExecutionWalk } from '../run.js';
import { walkFailureNode } from './failure-node.js';

/**
 * Walks a node that contains a sub-workflow: reports the node as running, and walks the graph of the sub-workflow,
 * whose nodes are children of this node. When the graph fails, the failure node of the sub-workflow runs.
 */
export function* walkSubWorkflow(
  run: ExecutionWalk,
  at: NodeAt,
  reference: Identifier,
  inputs: Literals,
): Walk<WalkOutcome> {
  yield* reportNode(run, at, Phase.RUNNING, { isParent: true });
  const workflow = at.position.definitions.workflows.get(definitionKey(reference));
  if (!workflow)
    return {
      kind: 'failed',
      error: failure('WorkflowMissing', `workflow ${reference.name} is not in the compiled workflow closure`),
    };
  const position: GraphPosition = { ...at.position, parent: at.id };
  const end = yield* run.walkGraph(run, position, workflow, inputs);
  if (end.kind === 'failed') yield* walkFailureNode(run, position, { workflow, inputs, error: end.error });
  return end;
}

/** The id of the child execution that a node launches; for an array node, of the child for one element, from 0. */
export const childIdOf = (run: ExecutionWalk, nodeId: string, element?: number): WorkflowExecutionIdentifier =>
  create(WorkflowExecutionIdentifierSchema, {
    project: run.id.project,
    domain: run.id.domain,
    name: childExecutionName(run.id.name, nodeId, PARENT_ATTEMPT, ...(element === undefined ? [] : [element])),
  });

/**
 * Launches a child execution. One that has its name already is used in its place.
 *
 * @returns the reason when the control plane refuses.
 */
export function* beginChild(
  run: ExecutionWalk,
  at: NodeAt,
  child: WorkflowExecutionIdentifier,
  launch: { readonly launchPlan: Identifier; readonly inputs: Literals },
): Walk<string | undefined> {
  run.ledger.noteChild(at.id, child);
  return yield* awaitAnswer<string | undefined>((reply) => ({
    kind: 'launch',
    child,
    ...launch,
    parentNodeId: at.id,
    reply,
  }));
}

/** Waits until a child execution has ended; the result is its outcome. */
export const awaitChild = (child: WorkflowExecutionIdentifier): Walk<WalkOutcome> =>
  awaitAnswer<WalkOutcome>((reply) => ({ kind: 'await-child', child, reply }));

/** Walks a node that launches a launch plan: launches the child execution, and waits until it has ended. */
export function* walkLaunchPlan(
  run: ExecutionWalk,
  at: NodeAt,
  launchPlan: Identifier,
  inputs: Literals,
): Walk<WalkOutcome> {
  const child = childIdOf(run, at.id);
  const refusal = yield* beginChild(run, at, child, { launchPlan, inputs });
  if (refusal !== undefined) return { kind: 'failed', error: failure('LaunchRefused', refusal) };
  yield* reportNode(run, at, Phase.RUNNING, {
    targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: child } },
  });
  return yield* awaitChild(child);
}
