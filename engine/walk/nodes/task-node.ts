import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type TaskTemplate } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { randomSource } from '../values/random.js';
import { type WalkOutcome, type Walk } from '../effects.js';
import { type Literals } from '../values/literal-values.js';
import { reportNode, withError } from '../reports.js';
import { type NodeAt, type ExecutionWalk } from '../run.js';
import { attemptAt, maxAttempts, beginAttempt, finishAttempt } from './task-attempt.js';

const timeoutOf = (at: NodeAt, template: TaskTemplate): number =>
  Number((at.node.metadata?.timeout ?? template.metadata?.timeout)?.seconds ?? 0n);

/**
 * Turns the failure of a node with a timeout into a timeout when its drawn duration, up to twice the limit, exceeds the
 * limit.
 */
const asTimeout = (run: ExecutionWalk, at: NodeAt, template: TaskTemplate, end: WalkOutcome): WalkOutcome => {
  const limit = timeoutOf(at, template);
  if (end.kind !== 'failed' || limit === 0) return end;
  const duration = 2 * limit * randomSource(run.seed, run.id.name, at.id, 'duration')();
  return { ...end, isTimeout: duration > limit };
};

/** Walks a node with a task: attempts until one succeeds or none is left. */
export function* walkTask(run: ExecutionWalk, at: NodeAt, template: TaskTemplate, inputs: Literals): Walk<WalkOutcome> {
  const attempts = maxAttempts(at.node, template);
  for (let attempt = 0; ; attempt++) {
    const attemptRef = attemptAt(at, template, attempt);
    yield* beginAttempt(run, attemptRef, inputs);
    if (attempt === 0) yield* reportNode(run, at, Phase.RUNNING);
    const end = yield* finishAttempt(run, attemptRef, template);
    if (end.kind !== 'failed') return end;
    if (attempt + 1 >= attempts) return asTimeout(run, at, template, end);
    // The same phase again: it carries the error that caused the retry, and is answered ALREADY_EXISTS.
    yield* reportNode(run, at, Phase.RUNNING, withError(end.error));
  }
}
