import { setTimeout as pause } from 'node:timers/promises';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Execution } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecution } from '../../../../proto/gen/platformidl/admin/node_execution_pb.js';
import {
  ExecutionWatchService,
  type WatchResponse,
  WatchResponse_Kind as Kind,
} from '../../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { Connection } from '../connection/connection.js';
import { ConnectionLost, isForLater } from '../connection/refusal.js';
import { errorOrCause, phaseOf } from '../entities/columns.js';
import type { ExecutionId } from './execution-id.js';
import type { ExecutionState } from './tree.js';

const RETRY_MS = 1_000;

/** The parts of a watch request: one execution, or those that filters match. */
export type Watched = {
  readonly project: string;
  readonly domain: string;
  readonly name?: string;
  readonly filters?: string;
  readonly labels?: readonly string[];
};

/** An answer with all of its pages. */
type WholeAnswer = { readonly pages: readonly WatchResponse[]; readonly last: WatchResponse };

/** Keeps the pages of each answer until its last one has come. */
const wholeAnswers = async function* (stream: AsyncIterable<WatchResponse>): AsyncGenerator<WholeAnswer> {
  let pages: WatchResponse[] = [];
  for await (const answer of stream) {
    pages.push(answer);
    if (answer.hasMore) continue;
    yield { pages, last: answer };
    pages = [];
  }
};

/**
 * The answers of a watch; the watch of one execution ends with the execution. After the connection was lost, or the
 * server has ended the stream, it connects again, and resumes after the last whole answer. The pages of an answer are
 * given when the last of them has come: an answer that was cut off is sent again from its first page.
 *
 * @param lost called when the connection was lost or the server is away, overloaded or slow, and after each further
 * attempt that has failed.
 * @throws {Unreachable} when the server has never begun to answer; later the watch waits for the server.
 * @throws {Refused} when the server refuses, but not when it is UNAVAILABLE or overloaded after it has begun to answer.
 */
export const answersOf = async function* (
  connection: Connection,
  { labels = [], ...watched }: Watched,
  lost: () => void,
): AsyncGenerator<WatchResponse> {
  const { signal } = new AbortController();
  let lastEventId = '';
  let hasBegun = false;
  let isOver = false;
  while (!isOver) {
    try {
      const request = { ...watched, labels: [...labels], lastEventId };
      const stream = connection.open(ExecutionWatchService.method.watch, request, signal);
      for await (const { pages, last } of wholeAnswers(stream)) {
        hasBegun = true;
        yield* pages;
        lastEventId = String(last.position);
        isOver = last.kind === Kind.END;
      }
    } catch (error) {
      hasBegun ||= error instanceof ConnectionLost;
      if (!hasBegun || !isForLater(error)) throw error;
      lost();
    }
    if (!isOver) await pause(RETRY_MS);
  }
};

const createdAt = ({ closure }: NodeExecution): number => (closure?.createdAt ? timestampMs(closure.createdAt) : 0);

/** The state of one execution after each whole answer of its watch but checkpoints, until it has ended. */
export const statesOf = async function* (
  connection: Connection,
  id: ExecutionId,
  lost: () => void,
): AsyncGenerator<ExecutionState & { readonly answer: WatchResponse }> {
  let execution: Execution | undefined;
  const nodes = new Map<string, NodeExecution>();
  for await (const answer of answersOf(connection, id, lost)) {
    [execution] = [...answer.executions, ...(execution ? [execution] : [])];
    for (const node of answer.nodes) nodes.set(node.id?.nodeId ?? '', node);
    if (answer.kind === Kind.CHECKPOINT || answer.hasMore) continue;
    yield { execution, nodes: [...nodes.values()].sort((a, b) => createdAt(a) - createdAt(b)), answer };
  }
};

/** The exit codes of commands that follow an execution to its end, by its last phase. */
const EXIT_CODES: Readonly<Record<string, number>> = { SUCCEEDED: 0, FAILED: 3, ABORTED: 4, TIMED_OUT: 5 };

/** The end of an execution: its last phase, the reason, and the exit code of the command. */
export type ExecutionEnd = { readonly phase: string; readonly reason: string; readonly exitCode: number };

export const endOf = (execution: Execution | undefined): ExecutionEnd => {
  const phase = execution ? phaseOf(execution) : 'UNDEFINED';
  return { phase, reason: execution ? errorOrCause(execution) : '', exitCode: EXIT_CODES[phase] ?? 1 };
};
