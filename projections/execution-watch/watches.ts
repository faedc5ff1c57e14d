import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type WatchRequest,
  WatchRequestSchema,
  WatchResponse_Kind as Kind,
} from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { faultOfCrossing } from '../../services/kernel/crossing-faults.js';
import { type FollowForm, type FollowingClient, RpcError } from '../../services/kernel/rpc.js';
import type { Collection, StoredDocument } from '../runtime/read-store.js';
import { bareAnswer, statePage } from './answers.js';
import type { FoldedDocument } from './folded-execution.js';
import {
  type EncodeAnswer,
  MAX_WATCHERS,
  type SentAnswer,
  type WatchMessage,
  type WatchQuestion,
  type WatchReply,
} from './thread-messages.js';
import { openTopics, type Watcher } from './topics.js';
import { afterOf, isList, subjectOf, topicOf } from './watch-request.js';

/** Reads the executions that the filter of a request matches, from views that have reached a position, in pages. */
export type ReadList = (request: WatchRequest, position: bigint) => AsyncIterable<readonly StoredDocument[]>;

/** The options of a caller. */
export type WatchOptions = FollowingClient & { readonly readList: ReadList };

/** The watches of this process. */
export interface Watches {
  /**
   * Watches for one caller, until the end of what it watches, or until the caller is gone.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the field; NOT_FOUND; RESOURCE_EXHAUSTED when there are too many
   * watchers; ABORTED when the caller reads too slowly; UNAVAILABLE when the log ends before the position after which
   * the request resumes, and when the process shuts down.
   * @throws {Fault} as `Watched.begin`; {StoreUnavailable} also when the thread has ended.
   */
  open(request: Uint8Array, options: WatchOptions): AsyncIterable<SentAnswer>;
  close(): Promise<void>;
}

/** The longest wait for a change, in milliseconds; then a checkpoint is sent. */
const CHECKPOINT_MS = 5_000;
/** A watcher that has more than this to read, in bytes, is dropped at the next change. */
const MAX_BEHIND_BYTES = 4 * 1024 * 1024;

/** The thread that folds and encodes watched executions and lists. The first question starts it, also after a crash. */
export interface WatchThread {
  /** @throws {RpcError} or {Fault} that the thread has thrown, or with which it has ended. */
  ask(question: WatchQuestion): Promise<WatchReply>;
  /** Ends a watch; does nothing when the thread has ended, because all watches ended with it. */
  leave(id: number): void;
  close(): Promise<void>;
}

/** The thread, and how answers are encoded. */
export type WatchesOptions = {
  /**
   * Makes the thread. `onMessage` gets the messages that no question asked for; `onEnd` is called with the error with
   * which all watches end.
   */
  readonly openThread: (onMessage: (message: WatchMessage) => void, onEnd: (error: Error) => void) => WatchThread;
  readonly encode: EncodeAnswer;
  /** The collection of executions, which lists show. */
  readonly executions: Collection;
};

/** A watch in progress. */
type Watch = Pick<WatchesOptions, 'encode' | 'executions'> & {
  readonly id: number;
  readonly request: WatchRequest;
  readonly form: FollowForm;
  readonly disconnected: AbortSignal;
  readonly watcher: Watcher;
  readonly readList: ReadList;
  readonly thread: WatchThread;
  /** The position up to which all changes are published. */
  readonly reached: () => bigint;
};

/**
 * Executions whose document in the first state is newer than the position at which the changes begin: stream and
 * position.
 */
type Newer = Map<string, bigint>;

/** Yields the first state of a list, read from views that have reached a position. */
const listed = async function* (
  { request, form, readList, encode, executions }: Watch,
  position: bigint,
  newer: Newer,
): AsyncGenerator<SentAnswer> {
  let documents: readonly FoldedDocument[] = [];
  for await (const page of readList(request, position)) {
    if (documents.length > 0) yield encode(form, statePage(documents, position, true));
    for (const { key, position: at } of page) if (at > position) newer.set(key, at);
    documents = page.map((document) => ({ collection: executions, document }));
  }
  yield encode(form, statePage(documents, position, false));
};

/** Yields the first answers of a watch: the state, or the changes since the position of the request. */
const first = async function* ({ id, disconnected, thread }: Watch): AsyncGenerator<SentAnswer> {
  let isLast = false;
  while (!isLast && !disconnected.aborted) {
    const reply = await thread.ask({ more: id });
    yield* reply.answers ?? [];
    isLast = reply.isLast === true;
  }
};

/**
 * Yields the changes after a position until the end, without those that the first state has. The end itself is always
 * yielded: its position is that of the last change, which a caller that resumes after it has already.
 */
const live = async function* (
  { watcher, disconnected, form, encode, reached }: Watch,
  after: bigint,
  newer: Newer,
): AsyncGenerator<SentAnswer> {
  const isNew = ({ kind, position: at, stream = '' }: SentAnswer): boolean =>
    kind === Kind.END || (at > after && at > (newer.get(stream) ?? 0n));
  let position = after;
  while (!disconnected.aborted) {
    const next = watcher.next();
    if (next && isNew(next)) {
      yield next;
      position = next.position;
      if (next.kind === Kind.END) return;
    } else if (!next && !(await watcher.changed(CHECKPOINT_MS))) {
      if (reached() > position) position = reached();
      yield encode(form, bareAnswer(Kind.CHECKPOINT, position));
    }
  }
};

const answersTo = async function* (watch: Watch): AsyncGenerator<SentAnswer> {
  const { id, request, form, thread, encode } = watch;
  try {
    const encoded = toBinary(WatchRequestSchema, request);
    const { position = 0n, isEnded } = await thread.ask({ begin: id, request: encoded, form });
    const newer: Newer = new Map();
    const requestedAfter = afterOf(request);
    yield* isList(request) && requestedAfter === undefined ? listed(watch, position, newer) : first(watch);
    const after = requestedAfter !== undefined && requestedAfter > position ? requestedAfter : position;
    if (isEnded === true) yield encode(form, bareAnswer(Kind.END, after));
    else yield* live(watch, after, newer);
  } finally {
    thread.leave(id);
  }
};

/** Opens the watches of a process. */
export const openWatches = ({ openThread, encode, executions }: WatchesOptions): Watches => {
  const topics = openTopics(MAX_BEHIND_BYTES);
  let [reachedPosition, watchers, count] = [0n, 0, 0];
  const reached = (): bigint => reachedPosition;

  const onMessage = (message: WatchMessage): void => {
    if ('reached' in message) reachedPosition = message.reached;
    else if ('answers' in message) topics.publish(message.topic, message.answers);
    else topics.fail(message.topic, faultOfCrossing(message.failure));
  };
  const thread = openThread(onMessage, (error) => topics.failAll(error));

  return {
    async *open(encoded, { form, disconnected, readList }) {
      const request = fromBinary(WatchRequestSchema, encoded);
      if (watchers >= MAX_WATCHERS)
        throw new RpcError('RESOURCE_EXHAUSTED', `this process has ${MAX_WATCHERS} watchers already`);
      const watcher = topics.join(topicOf(subjectOf(request), form));
      disconnected.addEventListener('abort', watcher.wake);
      watchers += 1;
      count += 1;
      const caller = { id: count, request, form, disconnected, watcher, readList };
      try {
        yield* answersTo({ ...caller, thread, encode, executions, reached });
      } finally {
        watchers -= 1;
        watcher.leave();
      }
    },
    close: () => thread.close(),
  };
};
