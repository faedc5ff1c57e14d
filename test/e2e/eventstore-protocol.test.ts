import { randomUUID } from 'node:crypto';
import { connect } from 'node:http2';
import { Socket } from 'node:net';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BACKWARDS,
  binaryEvent,
  END,
  ErrorType,
  EventStoreDBClient,
  eventTypeFilter,
  FORWARDS,
  jsonEvent,
  NO_STREAM,
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
  START,
  STREAM_EXISTS,
  streamNameFilter,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';

const clientOf = (address: string): EventStoreDBClient =>
  EventStoreDBClient.connectionString(`esdb://${address}?tls=false&keepAliveInterval=-1`);

const gathered = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};

/** The type that the client gives to an error. */
const typeOf = (error: unknown): unknown => (error as { type?: unknown }).type;

const event = (type = 'Counted') => jsonEvent({ type, data: { some: 'data' }, metadata: { of: 'mine' } });

/** The operations of official clients that are not served. */
const UNSERVED = [
  ...[
    'Create',
    'Update',
    'Delete',
    'Statistics',
    'Disable',
    'Enable',
    'Reset',
    'State',
    'Result',
    'RestartSubsystem',
  ].map((name) => `projections.Projections/${name}`),
  ...['Create', 'Update', 'Delete', 'Disable', 'Enable', 'Details', 'ChangePassword', 'ResetPassword'].map(
    (name) => `users.Users/${name}`,
  ),
  ...['StartScavenge', 'StopScavenge', 'Shutdown', 'MergeIndexes', 'ResignNode', 'SetNodePriority'].map(
    (name) => `operations.Operations/${name}`,
  ),
  'operations.Operations/RestartPersistentSubscriptions',
  'monitoring.Monitoring/Stats',
];

describe('the log of a control plane, over the EventStoreDB protocol', () => {
  let plane: ControlPlane;
  let client: EventStoreDBClient;

  beforeAll(async () => {
    plane = await startControlPlane({ FLIGHTLOG_EVENTSTORE_MODE: 'read' });
    await register(plane.grpc, withNeeds('01-hello'));
    client = clientOf(plane.server().ready.eventstore!);
  });
  afterAll(async () => {
    await client.dispose();
    await plane.close();
  });

  it('has every event in order, as JSON', async () => {
    const recorded = await plane.events();
    const read = await gathered(client.readAll());
    expect(read.map(({ event: each }) => [each!.streamId, each!.revision, each!.type])).toEqual(
      recorded.map(({ stream, revision, type }) => [stream, revision, type]),
    );
    expect(read.every(({ event: each }) => each!.isJson)).toBe(true);
    const task = read.find(({ event: each }) => each!.type === 'TaskRegistered');
    expect(task!.event!.data).toMatchObject({ id: { name: expect.any(String) as string } });
    expect(task!.event!.metadata).toMatchObject({ recordedAtMs: expect.any(Number) as number });
  });

  it('can be read backwards, also from a position', async () => {
    const forwards = await gathered(client.readAll());
    const backwards = await gathered(client.readAll({ direction: BACKWARDS, fromPosition: END }));
    expect(backwards.map(({ event: each }) => each!.id)).toEqual(forwards.map(({ event: each }) => each!.id).reverse());
    const [first, second] = forwards;
    const before = await gathered(client.readAll({ direction: BACKWARDS, fromPosition: second!.event!.position }));
    expect(before.map(({ event: each }) => each!.position.commit)).toEqual([first!.event!.position.commit]);
  });

  it('can be followed with a filter while events are recorded', async () => {
    const seen: string[] = [];
    const subscription = client.subscribeToAll({
      fromPosition: START,
      filter: streamNameFilter({ prefixes: ['project-'] }),
    });
    const id = `p${randomUUID().slice(0, 8)}`;
    const found = new Promise<void>((resolve) => {
      subscription.on('data', ({ event: each }) => {
        seen.push(each!.streamId);
        if (each!.streamId === `project-${id}`) resolve();
      });
    });
    await plane.grpc.call(AdminService.method.registerProject, { project: { id, name: id } });
    await found;
    await subscription.unsubscribe();
    expect(seen.every((stream) => stream.startsWith('project-'))).toBe(true);
  });

  it('can be filtered with the negative lookahead of official clients; other patterns must be of RE2', async () => {
    const tail = (regex: string): Promise<string[]> =>
      new Promise((resolve, reject) => {
        const streams: string[] = [];
        const subscription = client.subscribeToAll({ fromPosition: START, filter: streamNameFilter({ regex }) });
        subscription.on('data', ({ event: each }) => streams.push(each!.streamId));
        subscription.on('error', reject);
        subscription.on('caughtUp', () => void subscription.unsubscribe().then(() => resolve(streams)));
      });
    const streams = await tail('^(?!(\\$.+$|project-.+$))');
    expect(streams.length).toBeGreaterThan(0);
    expect(streams.some((stream) => stream.startsWith('project-'))).toBe(false);
    await expect(tail('^(a)(?=b)\\1')).rejects.toThrow(/RE2/u);
  });

  it.each(['append', 'delete', 'tombstone'] as const)(
    'refuses %s for a stream of the control plane, and records nothing',
    async (what) => {
      const head = await plane.head();
      const stream = 'execution-flytesnacks:development:x';
      const tries = {
        append: () => client.appendToStream(stream, event()),
        delete: () => client.deleteStream(stream),
        tombstone: () => client.tombstoneStream(stream),
      };
      const error = await tries[what]().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(typeOf(error)).toBe(ErrorType.ACCESS_DENIED);
      const reason = what === 'append' ? /cannot be appended to: .*--eventstore-mode write/u : /cannot be deleted: /u;
      expect(error).toMatchObject({ message: expect.stringMatching(reason) as string });
      expect((error as Error).message).toContain(stream);
      expect(await plane.head()).toBe(head);
    },
  );

  it('answers UNIMPLEMENTED, with the name, to each operation that it does not serve', async () => {
    const session = connect(`http://${plane.server().ready.eventstore!}`);
    const answered = (path: string): Promise<readonly unknown[]> =>
      new Promise((resolve, reject) => {
        const headers = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
        const stream = session.request({ ...headers, ':path': path });
        const look = (found: Record<string, unknown>): void => {
          if (found['grpc-status'] !== undefined) resolve([found['grpc-status'], found['grpc-message']]);
        };
        stream.on('response', look).on('trailers', look).on('error', reject);
        stream.resume().end(Buffer.alloc(5)); // the gRPC frame of an empty message
      });
    for (const operation of UNSERVED) {
      const path = `/event_store.client.${operation}`;
      expect(await answered(path)).toEqual([String(status.UNIMPLEMENTED), expect.stringContaining(path) as string]);
    }
    session.close();
    await expect(client.createProjection('projection', 'fromAll()')).rejects.toThrow(
      /UNIMPLEMENTED: .*event_store\.client\./u,
    );
  });

  it('refuses to create a persistent subscription while it is served for reading only', async () => {
    const head = await plane.head();
    const settings = persistentSubscriptionToAllSettingsFromDefaults();
    await expect(client.createPersistentSubscriptionToAll('group', settings)).rejects.toMatchObject({
      type: ErrorType.ACCESS_DENIED,
      message: expect.stringContaining('--eventstore-mode write') as string,
    });
    expect(await client.listAllPersistentSubscriptions()).toEqual([]);
    expect(await plane.head()).toBe(head);
  });

  it('is still served after hostile bytes', async () => {
    const [host = '', port = ''] = plane.server().ready.eventstore!.split(':');
    const garbage = new Socket();
    await new Promise<void>((resolve) => garbage.connect(Number(port), host, resolve));
    garbage.end(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff', 'latin1'));
    const session = connect(`http://${host}:${port}`);
    for (const path of ['Streams/Read', 'Streams/Append', 'Streams/BatchAppend', 'Streams/Delete', 'Nothing/There']) {
      const service = `event_store.client.streams.${path}`;
      const code = await new Promise<unknown>((resolve) => {
        const stream = session.request({
          ':method': 'POST',
          ':path': `/${service}`,
          'content-type': 'application/grpc',
          te: 'trailers',
        });
        stream.on('trailers', (trailers: Record<string, unknown>) => resolve(trailers['grpc-status']));
        stream.on('response', (headers) => headers['grpc-status'] !== undefined && resolve(headers['grpc-status']));
        stream.resume().end(Buffer.from([0, 0, 0, 0, 3, 0xff, 0xff, 0xff])); // a frame with a malformed message
      });
      const expected = path === 'Nothing/There' ? status.UNIMPLEMENTED : status.INVALID_ARGUMENT;
      expect([path, code]).toEqual([path, String(expected)]);
    }
    session.close();
    expect((await gathered(client.readAll({ maxCount: 1 }))).length).toBe(1);
  });
});

describe('a log server', () => {
  let server: LogServer;
  let client: EventStoreDBClient;

  beforeAll(async () => {
    server = await startLogServer(mkdtempSync(join(tmpdir(), 'flightlog-log-server-')));
    client = clientOf(server.address);
  });
  afterAll(async () => {
    await client.dispose();
    await server.stop();
  });

  const newStreamName = (): string => `orders-${randomUUID()}`;
  const revisions = async (name: string): Promise<bigint[]> =>
    (await gathered(client.readStream(name))).map(({ event: each }) => each!.revision);
  /** The type of the error with which a call fails. */
  const failure = (work: Promise<unknown>): Promise<unknown> => work.then(() => 'no failure', typeOf);

  it('gives events back as they were written', async () => {
    const name = newStreamName();
    const json = event();
    const binary = binaryEvent({ type: 'Scanned', data: Uint8Array.of(0, 255, 1), metadata: Uint8Array.of(254, 0) });
    const { nextExpectedRevision, position } = await client.appendToStream(name, [json, binary], {
      expectedRevision: NO_STREAM,
    });
    expect(nextExpectedRevision).toBe(1n);
    const [first, second] = (await gathered(client.readStream(name))).map(({ event: each }) => each!);
    expect(first).toMatchObject({ id: json.id, isJson: true, data: { some: 'data' }, metadata: { of: 'mine' } });
    expect(second).toMatchObject({ id: binary.id, isJson: false, type: 'Scanned', position });
    expect([...(second!.data as Uint8Array)]).toEqual([0, 255, 1]);
    expect([...(second!.metadata as Uint8Array)]).toEqual([254, 0]);
    expect(Math.abs(Date.now() - second!.created.getTime())).toBeLessThan(60_000);
  });

  it.each([
    ['no stream where there is one', true, NO_STREAM],
    ['a stream where there is none', false, STREAM_EXISTS],
    ['a revision that is ahead', true, 7n],
    ['a revision of a stream that does not exist', false, 0n],
  ] as const)('answers WRONG_EXPECTED_VERSION to a writer that expects %s', async (_, isThere, expectedRevision) => {
    const name = newStreamName();
    if (isThere) await client.appendToStream(name, event());
    expect(await failure(client.appendToStream(name, event(), { expectedRevision }))).toBe(
      ErrorType.WRONG_EXPECTED_VERSION,
    );
    // The client sends this one by Append instead of BatchAppend, because it has credentials of its own.
    const alone = { expectedRevision, credentials: { username: 'someone', password: 'something' } };
    expect(await failure(client.appendToStream(name, event(), alone))).toBe(ErrorType.WRONG_EXPECTED_VERSION);
  });

  it('records an append once when it is sent twice', async () => {
    const name = newStreamName();
    const given = [event(), event()];
    const first = await client.appendToStream(name, given, { expectedRevision: NO_STREAM });
    await client.appendToStream(name, event());
    expect(await client.appendToStream(name, given, { expectedRevision: NO_STREAM })).toEqual(first);
    expect(await revisions(name)).toEqual([0n, 1n, 2n]);
  });

  it('keeps the order of what one client appends without waiting', async () => {
    const name = newStreamName();
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        client.appendToStream(name, event(), { expectedRevision: i === 0 ? NO_STREAM : BigInt(i - 1) }),
      ),
    );
    expect(await revisions(name)).toHaveLength(200);
  });

  it('refuses an append above the size limit, and writes nothing', async () => {
    const large = binaryEvent({ type: 'Large', data: new Uint8Array(1_200_000) });
    const name = newStreamName();
    expect(await failure(client.appendToStream(name, large))).toBe(ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED);
    expect(await failure(gathered(client.readStream(name)))).toBe(ErrorType.STREAM_NOT_FOUND);
  });

  it('hides the events of a deleted stream, and shows those appended later', async () => {
    const name = newStreamName();
    await client.appendToStream(name, [event(), event()]);
    expect(await failure(client.deleteStream(name, { expectedRevision: 7n }))).toBe(ErrorType.WRONG_EXPECTED_VERSION);
    expect(await failure(client.tombstoneStream(name, { expectedRevision: NO_STREAM }))).toBe(
      ErrorType.WRONG_EXPECTED_VERSION,
    );
    await client.deleteStream(name);
    expect(await failure(gathered(client.readStream(name)))).toBe(ErrorType.STREAM_NOT_FOUND);
    expect((await client.getStreamMetadata(name)).metadata).toEqual({ truncateBefore: 2 });
    await client.appendToStream(name, event(), { expectedRevision: NO_STREAM });
    expect(await revisions(name)).toEqual([2n]);
  });

  it('still refuses reads of a tombstoned stream, and writes to it, after a restart', async () => {
    const name = newStreamName();
    await client.appendToStream(name, event());
    await client.tombstoneStream(name);
    await server.restart();
    await client.dispose();
    client = clientOf(server.address);
    expect(await failure(gathered(client.readStream(name)))).toBe(ErrorType.STREAM_DELETED);
    expect(await failure(client.appendToStream(name, event()))).toBe(ErrorType.STREAM_DELETED);
    expect(await failure(client.getStreamMetadata(name))).toBe(ErrorType.STREAM_DELETED);
    expect(await failure(client.setStreamMetadata(name, { maxCount: 2 }))).toBe(ErrorType.STREAM_DELETED);
  });

  it('shows only the newest events, up to the maximum count of the stream', async () => {
    const name = newStreamName();
    await client.appendToStream(name, [event(), event(), event()]);
    for (const maxCount of [1, 2]) await client.setStreamMetadata(name, { maxCount });
    expect(await revisions(`$$${name}`)).toEqual([1n]); // the stream of its metadata keeps the newest alone
    expect(await revisions(name)).toEqual([1n, 2n]);
    expect((await gathered(client.readStream(name, { direction: BACKWARDS, fromRevision: END }))).length).toBe(2);
  });

  it('takes an acknowledgement for each of two events with the same id', async () => {
    const name = newStreamName();
    const id = randomUUID();
    const twice = ['A', 'B'].map((type) => jsonEvent({ id, type, data: {} }));
    await client.appendToStream(name, twice);
    const settings = persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START, messageTimeout: 500 });
    await client.createPersistentSubscriptionToStream(name, 'workers', settings);
    const subscription = client.subscribeToPersistentSubscriptionToStream(name, 'workers');
    const types: string[] = [];
    subscription.on('data', (resolved) => {
      types.push(resolved.event!.type);
      if (types.length >= 2) for (const _ of twice) void subscription.ack(resolved);
    });
    await expect.poll(() => types.length).toBe(2);
    // Past the timeout of 500 ms, after which an event without an acknowledgement would come again.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(types).toEqual(['A', 'B']);
    await subscription.unsubscribe();
  });

  it('sends a subscription to one stream the events after the revision that the client names', async () => {
    const name = newStreamName();
    await client.appendToStream(name, [event('A'), event('B')]);
    const subscription = client.subscribeToStream(name, { fromRevision: 0n });
    const types: string[] = [];
    const three = new Promise<void>((resolve) => {
      subscription.on('data', ({ event: each }) => types.push(each!.type) === 3 && resolve());
      subscription.on('caughtUp', () => void client.appendToStream(name, [event('C'), event('D')]));
    });
    await three;
    await subscription.unsubscribe();
    expect(types).toEqual(['B', 'C', 'D']);
  });

  it('sends checkpoints to a filtered subscription', async () => {
    const marker = randomUUID();
    await client.appendToStream(newStreamName(), [event(), event(`Marked-${marker}`), event()]);
    const last = await client.appendToStream(newStreamName(), event());
    const checkpoints: bigint[] = [];
    await new Promise<void>((resolve) => {
      const subscription = client.subscribeToAll({
        fromPosition: START,
        filter: eventTypeFilter({
          prefixes: [`Marked-${marker}`],
          maxSearchWindow: 1,
          checkpointInterval: 1,
          checkpointReached: (_, { commit }) => {
            checkpoints.push(commit);
            if (commit === last.position!.commit) void subscription.unsubscribe().then(resolve);
          },
        }),
      });
      subscription.on('data', () => undefined);
    });
    expect(checkpoints.at(-1)).toBe(last.position!.commit);
  });

  it.each([
    { what: 'all streams of a category', afterCategory: '-' },
    { what: 'the streams of a category whose ids begin with a text', afterCategory: '-p' },
  ])('sends a subscription to $what the past events, checkpoints and new events', async ({ afterCategory }) => {
    const category = `c${randomUUID().replaceAll('-', '')}`;
    await client.appendToStream(`${category}-part`, event('Past'));
    await client.appendToStream(category, event('WithoutDash'));
    await client.appendToStream(`${category}x-part`, event('OfAnother'));
    const last = await client.appendToStream(newStreamName(), event());
    const got: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const subscription = client.subscribeToAll({
        fromPosition: START,
        filter: streamNameFilter({
          prefixes: [`${category}${afterCategory}`],
          maxSearchWindow: 1,
          checkpointReached: (_, { commit }) => {
            if (commit >= last.position!.commit && !got.includes('checkpoint')) got.push('checkpoint');
          },
        }),
      });
      subscription.on('error', reject);
      subscription.on('caughtUp', () => {
        got.push('caught up');
        client.appendToStream(`${category}-part`, event('New')).catch(reject);
      });
      subscription.on('data', ({ event: each }) => {
        got.push(each!.type);
        if (each!.type === 'New') void subscription.unsubscribe().then(resolve);
      });
    });
    expect(got).toEqual(['Past', 'checkpoint', 'caught up', 'New']);
  });

  it('reads a stream in both directions, from a revision or an end, up to a count', async () => {
    const name = newStreamName();
    await client.appendToStream(
      name,
      Array.from({ length: 450 }, () => event()),
    );
    const read = async (options: Parameters<EventStoreDBClient['readStream']>[1]): Promise<number[]> =>
      (await gathered(client.readStream(name, options))).map(({ event: each }) => Number(each!.revision));
    expect(await read({ direction: FORWARDS, fromRevision: 447n })).toEqual([447, 448, 449]);
    expect(await read({ direction: BACKWARDS, fromRevision: 1n })).toEqual([1, 0]);
    expect(await read({ direction: BACKWARDS, fromRevision: END, maxCount: 2 })).toEqual([449, 448]);
    expect(await read({ direction: FORWARDS, fromRevision: END })).toEqual([]);
    expect((await read({})).length).toBe(450);
  });
});
