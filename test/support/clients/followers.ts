import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { create, type DescMethod, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';

import {
  EventLogService,
  TailRequestSchema,
  TailResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import {
  ExecutionWatchService,
  WatchRequestSchema,
  WatchResponse_Kind as Kind,
  WatchResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/watch_pb.js';

/**
 * An answer of a tail or a watch. `position` is absent when a client cannot resume after it; `isEvent` is true for an
 * event of a tail and for a change of a watch.
 */
export type Answer = { readonly position: string | undefined; readonly isEvent: boolean; readonly isEnd: boolean };

/**
 * Connects, and resumes after a position; with an empty one, begins anew. The answers end or throw when the connection
 * breaks.
 */
export type Connect = (after: string) => AsyncIterable<Answer>;

/** The server of the next connection, as `host:port`. */
export type NextServer = () => string;

/** The execution that is watched; a name is absent for all executions of the domain. */
export type Watched = { readonly project: string; readonly domain: string; readonly name?: string };

const EVENTS = new Set(['event', 'change']);

/** Follows Server-Sent Events of a path. */
const eventsOf = (next: NextServer, path: string): Connect =>
  async function* (after) {
    const headers = after === '' ? {} : { 'last-event-id': after };
    const request = get(`http://${next()}${path}`, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response) {
      const blocks = (text + String(chunk)).split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) {
        const [, position, type = ''] = /^(?:id: (\d+)\n)?event: (\w+)\n/u.exec(block) ?? [];
        yield { position, isEvent: EVENTS.has(type), isEnd: type === 'end' };
      }
    }
  };

/** The messages of a streaming RPC of the server at an address. */
export const messagesOf = async function* (
  address: string,
  method: DescMethod,
  request: Uint8Array,
): AsyncGenerator<Buffer> {
  const client = new Client(address, credentials.createInsecure());
  const asIs = (bytes: Buffer): Buffer => bytes;
  const rpc = `/${method.parent.typeName}/${method.name}`;
  const stream = client.makeServerStreamRequest(rpc, asIs, asIs, Buffer.from(request));
  try {
    yield* stream as AsyncIterable<Buffer>;
  } finally {
    stream.cancel();
    client.close();
  }
};

/** A tail of the whole log over gRPC. */
export const tailOverGrpc = (next: NextServer): Connect =>
  async function* (lastEventId) {
    const request = toBinary(TailRequestSchema, create(TailRequestSchema, { from: 'start', lastEventId }));
    for await (const bytes of messagesOf(next(), EventLogService.method.tail, request)) {
      const { position, event } = fromBinary(TailResponseSchema, bytes);
      yield { position: String(position), isEvent: event !== undefined, isEnd: false };
    }
  };

/** A tail of the whole log by Server-Sent Events. */
export const tailByEvents = (next: NextServer): Connect => eventsOf(next, '/api/v1/tail?from=start');

/** A watch over gRPC. */
export const watchOverGrpc = (next: NextServer, watched: Watched): Connect =>
  async function* (lastEventId) {
    const request = toBinary(WatchRequestSchema, create(WatchRequestSchema, { ...watched, lastEventId }));
    for await (const bytes of messagesOf(next(), ExecutionWatchService.method.watch, request)) {
      const { position, kind, hasMore } = fromBinary(WatchResponseSchema, bytes);
      yield {
        position: hasMore ? undefined : String(position),
        isEvent: kind === Kind.CHANGE,
        isEnd: kind === Kind.END,
      };
    }
  };

/** A watch by Server-Sent Events. */
export const watchByEvents = (next: NextServer, { project, domain, name }: Watched): Connect =>
  name === undefined
    ? eventsOf(next, `/api/v1/watch/executions?project=${project}&domain=${domain}`)
    : eventsOf(next, `/api/v1/watch/executions/${project}/${domain}/${name}`);

/** The positions that a follower received. */
export type Followed = {
  /** Of the events, in their order. */
  readonly events: readonly string[];
  /** Of the first answer that has one. */
  readonly state: string;
  /** Of the last answer that has one. */
  readonly end: string;
};

/** The answers of one connection that a client can resume after, until the connection breaks. */
const untilBroken = async function* (answers: AsyncIterable<Answer>): AsyncGenerator<Answer> {
  try {
    for await (const each of answers) if (each.position !== undefined) yield each;
  } catch {
    // broken: the next connection resumes
  }
};

/** The pause before a client connects again: a server that is away refuses at once. */
const PAUSE_MS = 20;

type Following = {
  /** True for a position after which the caller wants no more answers. */
  readonly isLast: (position: string) => boolean;
  readonly onConnect?: () => void;
  /** Called at the first answer that has a position. */
  readonly onState?: () => void;
};

/** Follows until `isLast` or an answer that is an end, and connects again whenever the connection breaks. */
export const follow = async (connect: Connect, { isLast, onConnect, onState }: Following): Promise<Followed> => {
  const events: string[] = [];
  let [after, state] = ['', ''];
  /** Records an answer; returns true for the last one. */
  const take = ({ position = '', isEvent, isEnd }: Answer): boolean => {
    if (state === '') {
      state = position;
      onState?.();
    }
    after = position;
    if (isEvent) events.push(position);
    return isEnd || isLast(position);
  };
  let isDone = isLast(after);
  while (!isDone) {
    onConnect?.();
    for await (const answer of untilBroken(connect(after))) {
      isDone = take(answer);
      if (isDone) break;
    }
    isDone ||= isLast(after);
    await sleep(PAUSE_MS);
  }
  return { events, state, end: after };
};
