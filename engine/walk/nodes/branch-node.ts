import {
  ExecutionError_ErrorKind as Kind,
  NodeExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type BranchNode, type Node } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { type NodeOutputs } from '../values/bindings.js';
import { holds } from '../values/condition.js';
import { type WalkOutcome, type Walk } from '../effects.js';
import { type Literals } from '../values/literal-values.js';
import { failure, reportNode } from '../reports.js';
import { type NodeAt, nodeAt, type GraphPosition, type ExecutionWalk } from '../run.js';

type Choice = { readonly taken: Node | undefined; readonly left: readonly Node[]; readonly message: string };

/** Chooses the first case whose condition holds, otherwise the default. */
const choose = (branch: BranchNode, inputs: Literals): Choice => {
  const block = branch.ifElse;
  const cases = [block?.case, ...(block?.other ?? [])].filter((each) => each !== undefined);
  const otherwise = block?.default.case === 'elseNode' ? block.default.value : undefined;
  const taken = cases.find((each) => holds(each.condition, inputs))?.thenNode ?? otherwise;
  const message = block?.default.case === 'error' ? block.default.value.message : 'no branch was satisfied';
  const nodes = [...cases.map((each) => each.thenNode), otherwise].filter((each) => each !== undefined);
  return { taken, left: nodes.filter((each) => each !== taken), message };
};

/** Walks a node that evaluates its conditions over its inputs: walks the chosen inner node and skips the others. */
export function* walkBranch(
  run: ExecutionWalk,
  at: NodeAt,
  branch: BranchNode,
  given: { readonly inputs: Literals; readonly values: NodeOutputs },
): Walk<WalkOutcome> {
  const position: GraphPosition = { ...at.position, parent: at.id };
  const choice = choose(branch, given.inputs);
  yield* reportNode(run, at, Phase.RUNNING, { isParent: true });
  for (const node of choice.left) yield* skip(run, position, node);
  if (!choice.taken) return { kind: 'failed', error: failure('UserDefinedError', choice.message, Kind.USER) };
  return yield* run.walkNode(run, position, choice.taken, given.values);
}

/** Reports a node as skipped, unless an earlier walk has reported it. */
export function* skip(run: ExecutionWalk, position: GraphPosition, node: Node): Walk<void> {
  const at = nodeAt(position, node);
  if (!run.known.nodes.has(at.id)) yield* reportNode(run, at, Phase.SKIPPED);
}
