import { type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ExecutionError,
  TaskExecution_Phase as Phase,
  TaskLog_MessageFormat as Format,
  type TaskLogSchema,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type TaskTemplate } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { type Node } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { randomSource } from '../values/random.js';
import { awaitAnswer, type WalkOutcome, type Walk } from '../effects.js';
import { taskKey } from '../ledger.js';
import { type Literals } from '../values/literal-values.js';
import { type AttemptAt, failure, reportTask, withError, withInputs, withOutputs } from '../reports.js';
import { type NodeAt, type ExecutionWalk } from '../run.js';
import { drawLiterals } from '../values/typed-literals.js';

type Log = MessageInitShape<typeof TaskLogSchema>;

const WEEK = 604_800n;

const logsOf = (
  attemptRef: AttemptAt,
): { readonly pending: Log[]; readonly running: Log[]; readonly finished: Log[] } => {
  const path = `${attemptRef.at.id}/${attemptRef.attempt}`;
  const pod: Log = {
    uri: `https://logs.example.org/${path}`,
    name: 'Pod log',
    messageFormat: Format.JSON,
    ttl: { seconds: WEEK },
  };
  return {
    pending: [{ uri: `https://scheduler.example.org/${path}`, name: 'Why is it waiting?', ShowWhilePending: true }],
    running: [pod, { uri: `https://live.example.org/${path}`, name: 'Live view', HideOnceFinished: true }],
    finished: [pod],
  };
};

const because = (reason: string): { readonly reasons: { readonly reason: string }[] } => ({ reasons: [{ reason }] });

/** An attempt of a node's task. @throws {TypeError} when the template has no id. */
export const attemptAt = (at: NodeAt, template: TaskTemplate, attempt: number): AttemptAt => {
  if (!template.id) throw new TypeError(`the task of node ${at.id} has no id`);
  return { at, taskId: template.id, attempt, taskType: template.type, plugin: 'simulated' };
};

/** Maximum number of attempts: one, and the retries of the node's metadata if set, otherwise of the task's. */
export const maxAttempts = (node: Node, template: TaskTemplate | undefined): number =>
  1 + ((node.metadata?.retries?.retries ?? 0) || (template?.metadata?.retries?.retries ?? 0));

/**
 * Decides by the seed whether this attempt fails.
 *
 * @returns the error; `undefined` when it succeeds.
 */
export const simulateFailure = (run: ExecutionWalk, attemptRef: AttemptAt, element = 0): ExecutionError | undefined => {
  const draw = randomSource(run.seed, run.id.name, attemptRef.at.id, attemptRef.attempt, element, 'failure');
  return draw() < run.failureProbability
    ? failure('SimulatedFailure', `attempt ${attemptRef.attempt} of ${attemptRef.at.id} failed by chance`)
    : undefined;
};

/** Outputs of an attempt: typed values that depend only on the seed, the node and the attempt. */
const outputsOf = (run: ExecutionWalk, attemptRef: AttemptAt, template: TaskTemplate): Literals =>
  drawLiterals(randomSource(run.seed, attemptRef.at.id, attemptRef.attempt), template.interface?.outputs);

/** Reports an attempt from its submission to RUNNING. */
export function* beginAttempt(run: ExecutionWalk, attemptRef: AttemptAt, inputs: Literals): Walk<void> {
  const logs = logsOf(attemptRef);
  yield* reportTask(run, attemptRef, Phase.QUEUED, { ...withInputs(inputs), ...because('task submitted') });
  yield* reportTask(run, attemptRef, Phase.INITIALIZING, { ...because('pulling the image'), logs: logs.pending });
  yield* reportTask(run, attemptRef, Phase.INITIALIZING, { phaseVersion: 1, ...because('image pulled') });
  yield* reportTask(run, attemptRef, Phase.RUNNING, { ...because('started'), logs: logs.finished });
}

/** Reports the result of a running attempt. */
export function* endAttempt(run: ExecutionWalk, attemptRef: AttemptAt, end: WalkOutcome): Walk<void> {
  const logs = logsOf(attemptRef).finished;
  if (end.kind === 'failed') yield* reportTask(run, attemptRef, Phase.FAILED, { ...withError(end.error), logs });
  if (end.kind === 'succeeded')
    yield* reportTask(run, attemptRef, Phase.SUCCEEDED, { ...withOutputs(end.outputs), logs });
}

/** The result of this attempt: the one that an earlier walk has reported, otherwise one by the seed. */
function* resultOf(run: ExecutionWalk, attemptRef: AttemptAt, template: TaskTemplate): Walk<WalkOutcome> {
  const known = run.known.tasks.get(taskKey(attemptRef.at.id, attemptRef.attempt));
  const error = simulateFailure(run, attemptRef);
  if (known === Phase.FAILED || known === Phase.ABORTED || (error && known !== Phase.SUCCEEDED)) {
    return { kind: 'failed', error: error ?? failure('Failed', `attempt ${attemptRef.attempt} had failed before`) };
  }
  if (known !== Phase.SUCCEEDED) return { kind: 'succeeded', outputs: outputsOf(run, attemptRef, template) };
  const { taskId, attempt, at } = attemptRef;
  const outputs = yield* awaitAnswer<Literals>((reply) => ({
    kind: 'read-task-outputs',
    taskId,
    nodeId: at.id,
    attempt,
    reply,
  }));
  return { kind: 'succeeded', outputs };
}

/** Continues an attempt from RUNNING to its end. */
export function* finishAttempt(run: ExecutionWalk, attemptRef: AttemptAt, template: TaskTemplate): Walk<WalkOutcome> {
  const end = yield* resultOf(run, attemptRef, template);
  yield* reportTask(run, attemptRef, Phase.RUNNING, {
    phaseVersion: 1,
    ...because('at work'),
    logs: logsOf(attemptRef).running,
  });
  yield* endAttempt(run, attemptRef, end);
  return end;
}
