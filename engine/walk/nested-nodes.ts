import { NodeExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  type Identifier,
  type WorkflowExecutionIdentifier,
  WorkflowExecutionIdentifierSchema,
} from '../../proto/gen/platformidl/core/identifier_pb.js';
import { create } from '@bufbuild/protobuf';
import { perform, type WalkOutcome, type Walk } from './effects.js';
import { childExecutionName } from './ids.js';
import { type Literals } from './literal-values.js';
import { failure, reportNode } from './reports.js';
import { keyOf, type NodeAt, type NodePosition, type ExecutionWalk } from './run.js';
import { walkFailureNode } from './failure-node.js';

/** Walks a node that contains a workflow, whose nodes are below it. */
export function* walkSubWorkflow(
  run: ExecutionWalk,
  at: NodeAt,
  reference: Identifier,
  inputs: Literals,
): Walk<WalkOutcome> {
  yield* reportNode(run, at, Phase.RUNNING, { isParent: true });
  const workflow = at.place.library.workflows.get(keyOf(reference));
  if (!workflow)
    return { kind: 'failed', error: failure('WorkflowMissing', `${reference.name} is not in the closure`) };
  const place: NodePosition = { ...at.place, parent: at.id, attempt: 0 };
  const end = yield* run.walkGraph(run, place, workflow, inputs);
  if (end.kind === 'failed') yield* walkFailureNode(run, place, { workflow, inputs, error: end.error });
  return end;
}

/** The id of the child execution of a node; `parts` distinguish several children of one node. */
export const childOf = (run: ExecutionWalk, nodeId: string, ...parts: readonly number[]): WorkflowExecutionIdentifier =>
  create(WorkflowExecutionIdentifierSchema, {
    project: run.id.project,
    domain: run.id.domain,
    name: childExecutionName(run.id.name, nodeId, ...parts),
  });

/**
 * Starts a child execution, or adopts an existing one of the same name.
 *
 * @returns the message of a refusal; `undefined` when the child exists.
 */
export function* launch(
  run: ExecutionWalk,
  at: NodeAt,
  child: WorkflowExecutionIdentifier,
  of: { readonly launchPlan: Identifier; readonly inputs: Literals },
): Walk<string | undefined> {
  run.ledger.noteChild(at.id, child);
  return yield* perform<string | undefined>((reply) => ({ kind: 'launch', child, ...of, parentNodeId: at.id, reply }));
}

export const awaitChild = (child: WorkflowExecutionIdentifier): Walk<WalkOutcome> =>
  perform<WalkOutcome>((reply) => ({ kind: 'await-child', child, reply }));

/** Walks a node that runs a launch plan as a separate execution. */
export function* walkLaunchPlan(
  run: ExecutionWalk,
  at: NodeAt,
  launchPlan: Identifier,
  inputs: Literals,
): Walk<WalkOutcome> {
  const child = childOf(run, at.id, 0);
  const refusal = yield* launch(run, at, child, { launchPlan, inputs });
  if (refusal !== undefined) return { kind: 'failed', error: failure('LaunchRefused', refusal) };
  yield* reportNode(run, at, Phase.RUNNING, {
    targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: child } },
  });
  return yield* awaitChild(child);
}
