import { type CompiledWorkflowClosure } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { type ExecutionError } from '../../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier, type WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { type Literal } from '../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import {
  type NodeExecutionEvent,
  type TaskExecutionEvent,
  type WorkflowExecutionEvent,
} from '../../proto/gen/platformidl/event/event_pb.js';
import { type Literals } from './values/literal-values.js';

/** An event to send. The sender sets its times. */
export type EventReport =
  | { readonly kind: 'workflow'; readonly event: WorkflowExecutionEvent }
  | { readonly kind: 'node'; readonly event: NodeExecutionEvent }
  | { readonly kind: 'task'; readonly event: TaskExecutionEvent };

/** Result of a node, a graph or a child execution. */
export type WalkOutcome =
  | { readonly kind: 'succeeded'; readonly outputs: Literals }
  | { readonly kind: 'failed'; readonly error: ExecutionError; readonly isTimeout?: boolean }
  | { readonly kind: 'skipped' };

/** Result of a node of an earlier execution, which a recovery reuses. */
export type EarlierResult = { readonly outputs: Literals; readonly child?: WorkflowExecutionIdentifier };

/**
 * An operation outside the walk that it needs. `reply` is called at most once, before the walk continues. Effects that
 * wait get no reply while there is no answer, and are yielded again in the next round.
 */
export type Effect =
  | { readonly kind: 'report'; readonly report: EventReport }
  | {
      readonly kind: 'launch';
      readonly child: WorkflowExecutionIdentifier;
      readonly launchPlan: Identifier;
      readonly inputs: Literals;
      readonly parentNodeId: string;
      readonly reply: (refusal: string | undefined) => void;
    }
  | { readonly kind: 'terminate'; readonly child: WorkflowExecutionIdentifier; readonly cause: string }
  | {
      readonly kind: 'await-child';
      readonly child: WorkflowExecutionIdentifier;
      readonly reply: (end: WalkOutcome) => void;
    }
  | {
      readonly kind: 'await-signal';
      readonly signalId: string;
      readonly type: LiteralType;
      readonly reply: (value: Literal) => void;
    }
  | { readonly kind: 'await-time'; readonly nodeId: string; readonly milliseconds: number; readonly reply: () => void }
  | { readonly kind: 'read-outputs'; readonly nodeId: string; readonly reply: (outputs: Literals) => void }
  | {
      readonly kind: 'read-task-outputs';
      readonly taskId: Identifier;
      readonly nodeId: string;
      readonly attempt: number;
      readonly reply: (outputs: Literals) => void;
    }
  | {
      /** Reads the names of a launch plan's outputs. */
      readonly kind: 'read-launch-plan';
      readonly id: Identifier;
      readonly reply: (outputs: readonly string[]) => void;
    }
  | {
      /** Reads the graph that an earlier walk has reported for a dynamic node. */
      readonly kind: 'read-dynamic';
      readonly nodeId: string;
      readonly reply: (closure: CompiledWorkflowClosure | undefined) => void;
    }
  | {
      /** Reads the result of the node with the same id in the execution that this one recovers. */
      readonly kind: 'recall';
      readonly nodeId: string;
      readonly reply: (found: EarlierResult | undefined) => void;
    };

/**
 * The simulated run of a graph of nodes, of one node or of a part of it. It is a generator that yields the operations
 * that it needs, such as sending an event; its caller performs them.
 *
 * A walk proceeds in rounds. Each round yields effects that can be performed concurrently, and the walk continues when
 * all of them are done. So, but for the effects that wait, the content of a round does not depend on how fast the
 * answers come.
 */
export type Walk<Result> = Generator<readonly Effect[], Result, void>;

type Asking<Answer> = (reply: (answer: Answer) => void) => Effect;

/** Yields an effect until it has an answer. */
export function* awaitAnswer<Answer>(asking: Asking<Answer>): Walk<Answer> {
  const answers: Answer[] = [];
  const effect = asking((answer) => answers.push(answer));
  for (;;) {
    yield [effect];
    if (answers.length > 0) return answers[0] as Answer;
  }
}

/** Runs walks concurrently, in rounds of all that have not ended; returns the results in the order of the walks. */
export function* concurrently<Result>(walks: readonly Walk<Result>[]): Walk<readonly Result[]> {
  const results: Result[] = [];
  const open = new Map(walks.entries());
  while (open.size > 0) {
    const round: Effect[] = [];
    for (const [index, walk] of open) {
      const step = walk.next();
      if (step.done === true) {
        results[index] = step.value;
        open.delete(index);
      } else round.push(...step.value);
    }
    if (round.length > 0) yield round;
  }
  return results;
}
