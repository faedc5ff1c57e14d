import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { HistoryService } from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { OperationsService } from '../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import {
  ExecutionWatchService,
  WatchRequestSchema,
  WatchResponse_Kind as Kind,
  WatchResponseSchema,
  type WatchResponse,
} from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';
import { until } from '../support/until.js';

const SCOPE = { project: 'flytesnacks', domain: 'development' };
const path = (name: string) => `/api/v1/watch/executions/${SCOPE.project}/${SCOPE.domain}/${name}`;

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

/** A Server-Sent Event of a watch; `id` is its position in the log, and absent when a client cannot resume after it. */
type WatchEvent = { readonly id: string | undefined; readonly type: string; readonly data: Record<string, unknown[]> };

const parseEvent = (block: string): WatchEvent => {
  const [, id, type, data] = /^(?:id: (\d+)\n)?event: (\w+)\ndata: (.*)$/u.exec(block) ?? [];
  return { id, type: type!, data: JSON.parse(data!) as WatchEvent['data'] };
};

/** The event to resume after, a function that gets each event, and a signal that ends the watch. */
type Following = {
  readonly after?: string;
  readonly onEvent?: (each: WatchEvent) => void;
  readonly signal?: AbortSignal;
};

/** Reads the Server-Sent Events of a watch until they end. */
const readEvents = async (
  url: string,
  { after, onEvent = () => undefined, signal }: Following = {},
): Promise<readonly WatchEvent[]> => {
  const headers = after === undefined ? {} : { 'last-event-id': after };
  const request = get(`${plane.server().ready.http}${url}`, { headers, agent: false, ...(signal && { signal }) });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(response.headers['content-type']).toContain('text/event-stream');
  const all: WatchEvent[] = [];
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    const blocks = text.split('\n\n');
    text = blocks.pop()!;
    for (const each of blocks.map(parseEvent)) {
      all.push(each);
      onEvent(each);
    }
  }
  return all;
};

/** Reads a watch over gRPC until it ends. */
const overGrpc = async (request: Parameters<typeof create<typeof WatchRequestSchema>>[1]) => {
  const client = new Client(plane.server().ready.grpc, credentials.createInsecure());
  const asIs = (bytes: Buffer): Buffer => bytes;
  const { method } = ExecutionWatchService;
  const rpc = `/${method.watch.parent.typeName}/${method.watch.name}`;
  const encoded = Buffer.from(toBinary(WatchRequestSchema, create(WatchRequestSchema, request)));
  const answers: WatchResponse[] = [];
  for await (const answer of client.makeServerStreamRequest(rpc, asIs, asIs, encoded) as AsyncIterable<Buffer>)
    answers.push(fromBinary(WatchResponseSchema, answer));
  client.close();
  return answers;
};

/** A watch that is read; `all` has the events received so far. */
type Watching = { readonly all: WatchEvent[]; readonly close: () => void };

/**
 * Reads the Server-Sent Events of a watch without end into `all`. Resolves at the state, or at the first event when
 * `after` names the event to resume after.
 */
const watchList = async (query: string, after?: string): Promise<Watching> => {
  const all: WatchEvent[] = [];
  const stop = new AbortController();
  const isBegun = ({ type, id }: WatchEvent): boolean => id !== undefined && (type === 'state' || after !== undefined);
  await new Promise<void>((resolve, reject) => {
    const onEvent = (each: WatchEvent): void => {
      all.push(each);
      if (isBegun(each)) resolve();
    };
    readEvents(`/api/v1/watch/executions?project=flytesnacks&domain=development&${query}`, {
      ...(after !== undefined && { after }),
      onEvent,
      signal: stop.signal,
    }).catch((error: unknown) => (stop.signal.aborted ? undefined : reject(error as Error)));
  });
  return { all, close: () => stop.abort() };
};

const withoutCheckpoints = (all: readonly WatchEvent[]) => all.filter(({ type }) => type !== 'checkpoint');

describe('a watch of one execution', () => {
  /** The events of a watch that was opened before the execution ran. */
  let live: readonly WatchEvent[];

  beforeAll(async () => {
    await launchHello(plane.grpc, 'watched');
    let watching: Promise<readonly WatchEvent[]> | undefined;
    await new Promise<void>((resolve) => {
      watching = readEvents(path('watched'), { onEvent: () => resolve() });
    });
    await plane.run();
    live = withoutCheckpoints(await watching!);
  });

  it('has the state, then each change once and in order, then the end', async () => {
    const { transitions } = await plane.grpc.call(HistoryService.method.listTransitions, {
      id: { ...SCOPE, name: 'watched' },
    });
    const [state, ...changes] = live;
    expect(state).toMatchObject({ type: 'state', data: { executions: [{ id: { name: 'watched' } }] } });
    const end = changes.pop();
    expect(end).toMatchObject({ type: 'end', id: String(transitions.at(-1)!.position) });
    expect(new Set(changes.map(({ type }) => type))).toEqual(new Set(['change']));
    const recorded = [...new Set(transitions.map(({ position }) => String(position)))];
    expect([state!.id, ...changes.map(({ id }) => id)]).toEqual(recorded.slice(recorded.indexOf(state!.id!)));
  });

  it('has what Get answers, when all changes are applied', async () => {
    const last = new Map<string, unknown>();
    for (const { data } of live.slice(0, -1))
      for (const kind of ['executions', 'nodes', 'tasks'])
        for (const each of data[kind] as { readonly id: object }[]) last.set(JSON.stringify(each.id), each);
    const read = async (url: string) => (await fetch(`${plane.server().ready.http}${url}`)).json();
    const scoped = `${SCOPE.project}/${SCOPE.domain}/watched`;
    expect(last.size).toBeGreaterThan(2);
    const answered = [await read(`/api/v1/executions/${scoped}`), await read(`/api/v1/node_executions/${scoped}/n0`)];
    for (const each of answered as { readonly id: object }[]) expect(last.get(JSON.stringify(each.id))).toEqual(each);
  });

  it('resumes after the last event that a client names', async () => {
    for (const [index, { id }] of live.slice(0, -1).entries())
      expect(await readEvents(path('watched'), { after: id! })).toEqual(live.slice(index + 1));
  });

  it('of an execution that has ended is its state and the end, over gRPC', async () => {
    const [state, end] = await overGrpc({ ...SCOPE, name: 'watched' });
    expect([state!.kind, end!.kind]).toEqual([Kind.STATE, Kind.END]);
    expect(state!.nodes.length).toBeGreaterThan(0);
    const id = { ...SCOPE, name: 'watched' };
    expect(state!.executions).toEqual([await plane.grpc.call(AdminService.method.getExecution, { id })]);
  });

  it('is refused for an unknown execution, and for a position that is malformed or beyond the log', async () => {
    expect((await fetch(`${plane.server().ready.http}${path('other')}`)).status).toBe(404);
    const headers = { 'last-event-id': 'x' };
    expect((await fetch(`${plane.server().ready.http}${path('watched')}`, { headers })).status).toBe(400);
    const ahead = { 'last-event-id': '999999999' };
    const refused = await fetch(`${plane.server().ready.http}${path('watched')}`, { headers: ahead });
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('before position 999999999')]);
  });
});

describe('a watch of a filter', () => {
  const RUNNING = 'filters=eq(phase,RUNNING)';
  /** The names of the executions in an event; `not NAME` for one that no longer matches. */
  const named = ({ data }: WatchEvent) => [
    ...(data['executions'] as { id: { name: string } }[]).map(({ id }) => id.name),
    ...(data['noLongerMatching'] as { name: string }[]).map(({ name }) => `not ${name}`),
  ];
  /** The events of a watch of the running executions, while one was launched and ended. */
  let running: readonly WatchEvent[];
  /** The id of the first of them. */
  let firstId: string;

  beforeAll(async () => {
    const watching = await watchList(RUNNING);
    firstId = watching.all[0]!.id!;
    await launchHello(plane.grpc, 'listed');
    await plane.run();
    await until(
      () => Promise.resolve(watching.all),
      (all) => all.some((each) => named(each).includes('not listed')),
    );
    running = withoutCheckpoints(watching.all);
    watching.close();
  });

  it('has what matches, then what begins to match and what no longer does', () => {
    expect(running.map(named)).toEqual([[], ['listed'], ['not listed']]);
    expect(running[0]).toMatchObject({ type: 'state', data: { hasMore: false } });
  });

  it('resumes after the last event that a client names', async () => {
    const again = await watchList(RUNNING, firstId);
    await until(
      () => Promise.resolve(again.all),
      (all) => withoutCheckpoints(all).length >= 2,
    );
    again.close();
    expect(withoutCheckpoints(again.all)).toEqual(running.slice(1));
  });

  it('begins with all that match', async () => {
    const { all, close } = await watchList('filters=value_in(name,listed;watched)');
    close();
    expect(all.flatMap(named)).toEqual(['listed', 'watched']);
  });

  it('has an execution as it is, or that it does not match, when its stream is retried', async () => {
    const [matching, other] = [await watchList('filters=eq(name,listed)'), await watchList(RUNNING)];
    await plane.grpc.call(OperationsService.method.retryParkedStream, {
      stream: `execution-${SCOPE.project}:${SCOPE.domain}:listed`,
    });
    const lastOf = ({ all }: typeof other) =>
      until(
        () => Promise.resolve(withoutCheckpoints(all).at(-1)!),
        ({ data }) => String(data['type']) === 'ParkedStreamRetryRequested',
      );
    expect(named(await lastOf(matching))).toEqual(['listed']);
    expect(named(await lastOf(other))).toEqual(['not listed']);
    for (const { close } of [matching, other]) close();
  });

  it('is refused for fields that cannot be watched or do not exist, and for a malformed label', async () => {
    const url = '/api/v1/watch/executions?project=flytesnacks&domain=development';
    for (const query of ['filters=eq(workflow.created_at,2026-01-01T00:00:00Z)', 'filters=eq(nothing,x)', 'labels=x'])
      expect((await fetch(`${plane.server().ready.http}${url}&${query}`)).status, query).toBe(400);
  });
});
