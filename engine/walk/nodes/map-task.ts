import { type MessageInitShape } from '@bufbuild/protobuf';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type TaskTemplate } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { type LiteralType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type ArrayNode, type Node } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { type ExternalResourceInfoSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { randomSource } from '../values/random.js';
import { type WalkOutcome, type Walk } from '../effects.js';
import { collection, type Literals, noneLiteral } from '../values/literal-values.js';
import { type AttemptAt, failure, reportNode, reportTask, withInputs } from '../reports.js';
import { type NodeAt, type ExecutionWalk } from '../run.js';
import { attemptAt, maxAttempts, endAttempt, simulateFailure } from './task-attempt.js';
import { drawLiteral } from '../values/typed-literals.js';

type Resource = MessageInitShape<typeof ExternalResourceInfoSchema>;

/** A task that runs once for each element. */
export type MapTask = {
  readonly template: TaskTemplate;
  readonly inner: Node;
  readonly array: ArrayNode;
  readonly size: number;
  readonly needed: number;
};

/** For each attempt of one element, true when it fails. The last entry is the element's result. */
type ElementAttempts = readonly boolean[];

const simulatedElement = (run: ExecutionWalk, at: NodeAt, map: MapTask, index: number): ElementAttempts => {
  const attempts = maxAttempts(map.inner, map.template);
  const attemptFailures: boolean[] = [];
  do {
    attemptFailures.push(
      simulateFailure(run, attemptAt(at, map.template, attemptFailures.length), index + 1) !== undefined,
    );
  } while (attemptFailures.at(-1) === true && attemptFailures.length < attempts);
  return attemptFailures;
};

const hasSucceeded = (attemptFailures: ElementAttempts): boolean => attemptFailures.at(-1) === false;

/** An external resource for one attempt of an element. Clients show the part of a log's name after the first hyphen. */
const resource = (attemptRef: AttemptAt, index: number, attempt: number, phase: Phase): Resource => ({
  externalId: `${attemptRef.at.id}-${attemptRef.attempt}-n${index}-${attempt}`,
  index,
  retryAttempt: attempt,
  phase,
  logs: [
    { uri: `https://logs.example.org/${attemptRef.at.id}/${index}/${attempt}`, name: `Element-${index}-${attempt}` },
  ],
});

/** The resources of the elements that have an n-th attempt, with the phase that `phase` returns for their outcome. */
const resources = (
  attemptRef: AttemptAt,
  elements: readonly ElementAttempts[],
  attempt: number,
  phase: (hasFailed: boolean) => Phase,
): Resource[] =>
  elements.flatMap((attemptFailures, index) => {
    const hasFailed = attemptFailures[attempt];
    return hasFailed === undefined ? [] : [resource(attemptRef, index, attempt, phase(hasFailed))];
  });

function* runElements(run: ExecutionWalk, attemptRef: AttemptAt, elements: readonly ElementAttempts[]): Walk<void> {
  const rounds = Math.max(1, ...elements.map((attemptFailures) => attemptFailures.length));
  let phaseVersion = 0;
  const running = (externalResources: Resource[]): Walk<void> =>
    reportTask(run, attemptRef, Phase.RUNNING, { phaseVersion: phaseVersion++, metadata: { externalResources } });
  for (let attempt = 0; attempt < rounds; attempt++) {
    yield* running(resources(attemptRef, elements, attempt, () => Phase.QUEUED));
    yield* running(resources(attemptRef, elements, attempt, () => Phase.RUNNING));
    yield* running(
      resources(attemptRef, elements, attempt, (hasFailed) => (hasFailed ? Phase.FAILED : Phase.SUCCEEDED)),
    );
  }
}

/**
 * The type of one element's output. The SDK itself wraps the interface of a mapped task in lists, unless the node says
 * otherwise.
 */
const elementType = (map: MapTask, type: LiteralType): LiteralType =>
  map.array.isOriginalSubNodeInterface !== true && type.type.case === 'collectionType' ? type.type.value : type;

const outputsOf = (run: ExecutionWalk, at: NodeAt, map: MapTask, elements: readonly ElementAttempts[]): Literals => {
  const variables = Object.entries(map.template.interface?.outputs?.variables ?? {});
  const element = (type: LiteralType, name: string, index: number): Literal =>
    drawLiteral(randomSource(run.seed, at.id, 0, index, name), elementType(map, type));
  return Object.fromEntries(
    variables.map(([name, { type }]) => [
      name,
      collection(
        elements.map((attemptFailures, index) =>
          type && hasSucceeded(attemptFailures) ? element(type, name, index) : noneLiteral(),
        ),
      ),
    ]),
  );
};

/** Reported by real engines for every task type: clients list elements only for attempts of this type. */
const AS_ARRAY = { taskType: 'container_array', plugin: 'k8s-array' } as const;

/** Walks an array node over a task: one task execution, with the elements as its external resources. */
export function* walkMapTask(run: ExecutionWalk, at: NodeAt, map: MapTask, inputs: Literals): Walk<WalkOutcome> {
  const attemptRef = { ...attemptAt(at, map.template, 0), ...AS_ARRAY };
  const elements = Array.from({ length: map.size }, (_, index) => simulatedElement(run, at, map, index));
  const failures = elements.filter((attemptFailures) => !hasSucceeded(attemptFailures)).length;
  yield* reportTask(run, attemptRef, Phase.QUEUED, {
    ...withInputs(inputs),
    reasons: [{ reason: 'elements submitted' }],
  });
  yield* reportNode(run, at, NodePhase.RUNNING, { isArray: true });
  yield* runElements(run, attemptRef, elements);
  const message = `${failures} of ${map.size} elements failed, ${map.needed} must succeed`;
  const end: WalkOutcome =
    map.size - failures < map.needed
      ? { kind: 'failed', error: failure('ElementsFailed', message) }
      : { kind: 'succeeded', outputs: outputsOf(run, at, map, elements) };
  yield* endAttempt(run, attemptRef, end);
  return end;
}
