import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { bareAnswer, statePage } from '../../../projections/execution-watch/answers.js';
import { executions } from '../../../projections/executions/projection.js';
import type { FoldedDocument } from '../../../projections/execution-watch/folded-execution.js';
import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import {
  type WatchRequest,
  WatchRequestSchema,
  WatchResponse_Kind as Kind,
} from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { faultOfCrossing } from '../../kernel/crossing-faults.js';
import { type FollowForm, type FollowingClient, RpcError } from '../../kernel/rpc.js';
import type { ViewsThreadData } from '../views/views-thread.js';
import { encodedAs } from './encoded.js';
import { MAX_WATCHERS, type SentAnswer, type WatchMessage } from './messages.js';
import { afterOf, isList, subjectOf, topicOf } from './subject.js';
import { openTopics, type Watcher } from './topics.js';
import { type WatchingThread, watchingThread } from './watching-thread.js';

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
   * watchers; ABORTED when the caller reads too slowly.
   * @throws {StreamParked} when an event of the watched execution cannot be read.
   * @throws {StoreUnavailable} when the log cannot be read, and when the process shuts down.
   */
  open(request: Uint8Array, asked: WatchOptions): AsyncIterable<SentAnswer>;
  close(): Promise<void>;
}

/** The longest time without an answer, in milliseconds; then a checkpoint is sent. */
const CHECKPOINT_MS = 5_000;
/** The most changes that wait for one watcher, in bytes. */
const MAX_BEHIND_BYTES = 4 * 1024 * 1024;

/** A watch in progress. */
type Watch = {
  readonly id: number;
  readonly request: WatchRequest;
  readonly form: FollowForm;
  readonly gone: AbortSignal;
  readonly watcher: Watcher;
  readonly readList: ReadList;
};

/** Executions whose document in the first state is newer than the position at which the changes begin: stream and position. */
type Newer = Map<string, bigint>;

/** Yields the first state of a list, read from views that have reached a position. */
const listed = async function* (
  { request, form, readList }: Watch,
  position: bigint,
  newer: Newer,
): AsyncGenerator<SentAnswer> {
  let documents: readonly FoldedDocument[] = [];
  for await (const page of readList(request, position)) {
    if (documents.length > 0) yield encodedAs(form, statePage(documents, position, true));
    for (const { key, position: at } of page) if (at > position) newer.set(key, at);
    documents = page.map((document) => ({ collection: executions.collection, document }));
  }
  yield encodedAs(form, statePage(documents, position, false));
};

/** Yields the first answers of a watch: the state, or the changes since the position of the request. */
const first = async function* ({ id, gone }: Watch, thread: WatchingThread): AsyncGenerator<SentAnswer> {
  let isLast = false;
  while (!isLast && !gone.aborted) {
    const reply = await thread.ask({ more: id });
    yield* reply.answers ?? [];
    isLast = reply.isLast === true;
  }
};

/** Yields the changes after a position until the end; `reached` gives the position up to which all are published. */
const live = async function* (
  { watcher, gone, form }: Watch,
  { after, newer, reached }: { readonly after: bigint; readonly newer: Newer; readonly reached: () => bigint },
): AsyncGenerator<SentAnswer> {
  const isNew = ({ position: at, of = '' }: SentAnswer): boolean => at > after && at > (newer.get(of) ?? 0n);
  let position = after;
  while (!gone.aborted) {
    const next = watcher.take();
    if (next && isNew(next)) {
      yield next;
      position = next.position;
      if (next.kind === Kind.END) return;
    } else if (!next && !(await watcher.changed(CHECKPOINT_MS))) {
      if (reached() > position) position = reached();
      yield encodedAs(form, bareAnswer(Kind.CHECKPOINT, position));
    }
  }
};

const answersTo = async function* (
  watch: Watch,
  thread: WatchingThread,
  reached: () => bigint,
): AsyncGenerator<SentAnswer> {
  const { id, request, form } = watch;
  try {
    const encoded = toBinary(WatchRequestSchema, request);
    const { position = 0n, isEnded } = await thread.ask({ begin: id, request: encoded, form });
    const newer: Newer = new Map();
    const asked = afterOf(request);
    yield* isList(request) && asked === undefined ? listed(watch, position, newer) : first(watch, thread);
    const after = asked !== undefined && asked > position ? asked : position;
    if (isEnded === true) yield encodedAs(form, bareAnswer(Kind.END, after));
    else yield* live(watch, { after, newer, reached });
  } finally {
    thread.leave(id);
  }
};

/** Opens the watches of a process. */
export const openWatches = (data: ViewsThreadData): Watches => {
  const topics = openTopics(MAX_BEHIND_BYTES);
  let [reached, watchers, count] = [0n, 0, 0];

  const onMessage = (message: WatchMessage): void => {
    if ('reached' in message) ({ reached } = message);
    else if ('answers' in message) topics.publish(message.topic, message.answers);
    else topics.fail(message.topic, faultOfCrossing(message.failure));
  };
  const thread = watchingThread(data, onMessage, (error) => topics.failAll(error));

  return {
    async *open(encoded, { form, gone, readList }) {
      const request = fromBinary(WatchRequestSchema, encoded);
      if (watchers >= MAX_WATCHERS)
        throw new RpcError('RESOURCE_EXHAUSTED', `this process has ${MAX_WATCHERS} watchers already`);
      const watcher = topics.join(topicOf(subjectOf(request), form));
      gone.addEventListener('abort', watcher.wake);
      watchers += 1;
      count += 1;
      try {
        yield* answersTo({ id: count, request, form, gone, watcher, readList }, thread, () => reached);
      } finally {
        watchers -= 1;
        watcher.leave();
      }
    },
    close: () => thread.close(),
  };
};
