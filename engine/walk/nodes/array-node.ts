import { type Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type ArrayNode } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { awaitAnswer, type WalkOutcome, concurrently, type Walk } from '../effects.js';
import { collection, literalElements, type Literals, noneLiteral } from '../values/literal-values.js';
import { awaitChild, childIdOf, beginChild } from './nested-nodes.js';
import { failure, reportNode } from '../reports.js';
import { definitionKey, type NodeAt, type ExecutionWalk } from '../run.js';
import { walkMapTask } from './map-task.js';

/** Names of the inputs that are lists with one element for each instance; bound inputs are the same for all. */
const spreadNames = (array: ArrayNode, inputs: Literals): readonly string[] =>
  Object.keys(inputs).filter((name) => !array.boundInputs.includes(name));

const sizeOf = (array: ArrayNode, inputs: Literals): number =>
  Math.max(0, ...spreadNames(array, inputs).map((name) => literalElements(inputs[name]).length));

const elementInputs = (array: ArrayNode, inputs: Literals, index: number): Literals => {
  const spread = spreadNames(array, inputs).flatMap((name) => {
    const element = literalElements(inputs[name])[index];
    return element ? [[name, element] as const] : [];
  });
  return { ...inputs, ...Object.fromEntries(spread) };
};

/** Number of the `size` elements that must succeed. */
const neededSuccesses = (array: ArrayNode, size: number): number => {
  const { case: kind, value } = array.successCriteria;
  if (kind === 'minSuccesses') return Math.min(value, size);
  return kind === 'minSuccessRatio' ? Math.ceil(value * size) : size;
};

function* walkElement(
  run: ExecutionWalk,
  at: NodeAt,
  index: number,
  launch: Parameters<typeof beginChild>[3],
): Walk<WalkOutcome> {
  const child = childIdOf(run, at.id, index);
  const refusal = yield* beginChild(run, at, child, launch);
  if (refusal !== undefined) return { kind: 'failed', error: failure('LaunchRefused', refusal) };
  return yield* awaitChild(child);
}

const outputsOfEnd = (end: WalkOutcome): Literals => (end.kind === 'succeeded' ? end.outputs : {});

const gathered = (names: readonly string[], ends: readonly WalkOutcome[]): Literals =>
  Object.fromEntries(
    names.map((name) => [name, collection(ends.map((end): Literal => outputsOfEnd(end)[name] ?? noneLiteral()))]),
  );

/** Walks elements that are executions of a launch plan, as many at once as the node allows. */
function* walkChildren(
  run: ExecutionWalk,
  at: NodeAt,
  array: ArrayNode,
  launch: Parameters<typeof beginChild>[3],
): Walk<WalkOutcome> {
  yield* reportNode(run, at, Phase.RUNNING, { isArray: true });
  const size = sizeOf(array, launch.inputs);
  const step = array.parallelismOption.value ?? 0;
  const ends: WalkOutcome[] = [];
  while (ends.length < size) {
    const count = Math.min(step === 0 ? size : step, size - ends.length);
    const walks = Array.from({ length: count }, (_, offset) => {
      const index = ends.length + offset;
      return walkElement(run, at, index, { ...launch, inputs: elementInputs(array, launch.inputs, index) });
    });
    ends.push(...(yield* concurrently(walks)));
  }
  const failed = ends.find((end) => end.kind === 'failed');
  const successes = ends.filter((end) => end.kind === 'succeeded').length;
  if (failed && successes < neededSuccesses(array, size)) return failed;
  return { kind: 'succeeded', outputs: gathered(yield* outputNames(launch.launchPlan, ends), ends) };
}

function* outputNames(launchPlan: Identifier, ends: readonly WalkOutcome[]): Walk<readonly string[]> {
  const seen = [...new Set(ends.flatMap((end) => Object.keys(outputsOfEnd(end))))];
  if (seen.length > 0) return seen;
  return yield* awaitAnswer<readonly string[]>((reply) => ({ kind: 'read-launch-plan', id: launchPlan, reply }));
}

/** Walks a node that runs its inner node once for each element of its lists. */
export function* walkArray(run: ExecutionWalk, at: NodeAt, array: ArrayNode, inputs: Literals): Walk<WalkOutcome> {
  const inner = array.node;
  const target = inner?.target;
  if (inner && target?.case === 'taskNode') {
    const template = at.position.definitions.tasks.get(definitionKey(target.value.reference.value));
    const size = sizeOf(array, inputs);
    const needed = neededSuccesses(array, size);
    if (template) return yield* walkMapTask(run, at, { template, inner, array, size, needed }, inputs);
  }
  if (target?.case === 'workflowNode' && target.value.reference.case === 'launchplanRef') {
    return yield* walkChildren(run, at, array, { launchPlan: target.value.reference.value, inputs });
  }
  return { kind: 'failed', error: failure('UnknownElement', `${at.id} repeats what the engine cannot run`) };
}
