import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClusterInfoSchema, Gossip } from '../../proto/gen/event_store/client/gossip_pb.js';
import {
  type CreateReq_OptionsSchema,
  CreateReqSchema,
  ListReqSchema,
  ListRespSchema,
  PersistentSubscriptions,
  ReadReqSchema as ConsumeReqSchema,
} from '../../proto/gen/event_store/client/persistent_pb.js';
import {
  AppendReqSchema,
  AppendRespSchema,
  BatchAppendReqSchema,
  BatchAppendRespSchema,
  ReadReq_Options_ReadDirection as Direction,
  type ReadReq_OptionsSchema,
  ReadReqSchema,
  ReadRespSchema,
  Streams,
  TombstoneReqSchema,
} from '../../proto/gen/event_store/client/streams_pb.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { callRaw, framed, openRaw, type RawAnswer } from '../support/clients/raw-call.js';

const pathOf = (rpc: string): string => `/${Streams.typeName}/${rpc}`;
const GROUPS = `/${PersistentSubscriptions.typeName}`;
const empty = {};

type ReadOptions = Exclude<MessageInitShape<typeof ReadReq_OptionsSchema>, { readonly $typeName: string }>;
type CreateOptions = Exclude<MessageInitShape<typeof CreateReq_OptionsSchema>, { readonly $typeName: string }>;
type Revision = bigint | 'start' | 'end';

describe('the server of the EventStoreDB protocol', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-answers-'));
  let server: LogServer;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    server = await startLogServer(directory);
    session = connect(`http://${server.address}`);
    session.on('error', () => undefined); // the server ends it when it stops
  });
  afterAll(async () => {
    session.destroy();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  /** Appends an event of each type to a stream, whatever its revision. */
  const append = (name: string, types: readonly string[]): Promise<RawAnswer> => {
    const request = (content: MessageInitShape<typeof AppendReqSchema>['content']) =>
      framed(toBinary(AppendReqSchema, create(AppendReqSchema, content && { content })));
    const expected = { case: 'any', value: empty } as const;
    const streamIdentifier = { streamName: Buffer.from(name) };
    const events = types.map((type) =>
      request({
        case: 'proposedMessage',
        value: {
          id: { value: { case: 'string', value: randomUUID() } },
          metadata: { type, 'content-type': 'application/json' },
          data: Buffer.from('{}'),
        },
      }),
    );
    const options = request({ case: 'options', value: { streamIdentifier, expectedStreamRevision: expected } });
    return callRaw(session, pathOf('Append'), { body: Buffer.concat([options, ...events]) });
  };

  /** Calls Read with these options, and common ones for those that are left out. */
  const read = (options: ReadOptions): Promise<RawAnswer> => {
    const whole: ReadOptions = {
      filterOption: { case: 'noFilter', value: empty },
      uuidOption: { content: { case: 'string', value: empty } },
      controlOption: { compatibility: 1 }, // the client understands answers with the ends of a stream
      ...options,
    };
    const body = framed(toBinary(ReadReqSchema, create(ReadReqSchema, { options: whole })));
    return callRaw(session, pathOf('Read'), { body });
  };

  /**
   * The answers to a read of a stream, as texts: the revision of each event, and the kind of any other answer, with its
   * number where it has one.
   */
  const readOf = async (
    name: string,
    { from, count, backwards = false }: { from: Revision; count: number; backwards?: boolean },
  ): Promise<string[]> => {
    const streamIdentifier = { streamName: Buffer.from(name) };
    const revisionOption =
      typeof from === 'bigint' ? ({ case: 'revision', value: from } as const) : ({ case: from, value: empty } as const);
    const { messages } = await read({
      streamOption: { case: 'stream', value: { streamIdentifier, revisionOption } },
      readDirection: backwards ? Direction.Backwards : Direction.Forwards,
      countOption: { case: 'count', value: BigInt(count) },
    });
    return messages.map((message) => {
      const { content } = fromBinary(ReadRespSchema, message);
      if (content.case === 'event') return String(content.value.event?.streamRevision);
      return typeof content.value === 'bigint' ? `${content.case} ${content.value}` : String(content.case);
    });
  };

  const newStreamName = (): string => `orders-${randomUUID()}`;

  it('names the last revision of a stream, also where a count ended the read', async () => {
    const name = newStreamName();
    await append(name, ['A', 'B', 'C']);
    expect(await readOf(name, { from: 'end', count: 1, backwards: true })).toEqual(['2', 'lastStreamPosition 2']);
    expect(await readOf(name, { from: 'start', count: 2 })).toEqual(['0', '1', 'lastStreamPosition 2']);
    expect(await readOf(name, { from: 3n, count: 2 })).toEqual(['lastStreamPosition 2']);
  });

  it('names the next revision when a read begins beyond it', async () => {
    const name = newStreamName();
    await append(name, ['A', 'B', 'C']);
    expect(await readOf(name, { from: 9n, count: 2 })).toEqual(['firstStreamPosition 3', 'lastStreamPosition 2']);
  });

  it('accepts a filter without a checkpoint interval for a read, and refuses it for a subscription', async () => {
    const marker = `Marked-${randomUUID()}`;
    await append(newStreamName(), [marker]);
    const options: ReadOptions = {
      streamOption: { case: 'all', value: { allOption: { case: 'start', value: empty } } },
      filterOption: {
        case: 'filter',
        value: { filter: { case: 'eventType', value: { prefix: [marker] } }, checkpointIntervalMultiplier: 0 },
      },
    };
    const found = await read({ ...options, countOption: { case: 'count', value: 5n } });
    expect(found).toMatchObject({ code: 'OK' });
    expect(found.messages).toHaveLength(1);
    const followed = await read({ ...options, countOption: { case: 'subscription', value: empty } });
    expect(followed).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(followed.message).toContain('checkpoint_interval_multiplier');
  });

  it('answers an append of no events with a position', async () => {
    const name = newStreamName();
    for (const events of [[], ['A'], []]) {
      const { messages } = await append(name, events);
      const { result } = fromBinary(AppendRespSchema, messages[0]!);
      expect(result.value).toMatchObject({ positionOption: { case: 'position' } });
    }
  });

  it('says that nothing was written of an append that came after its deadline', async () => {
    const request = create(BatchAppendReqSchema, {
      correlationId: { value: { case: 'string', value: randomUUID() } },
      options: {
        streamIdentifier: { streamName: Buffer.from(newStreamName()) },
        expectedStreamPosition: { case: 'any', value: empty },
        deadlineOption: { case: 'deadline', value: { seconds: 0n, nanos: 0 } },
      },
      isFinal: true,
    });
    const body = framed(toBinary(BatchAppendReqSchema, request));
    const { messages } = await callRaw(session, pathOf('BatchAppend'), { body });
    const { result } = fromBinary(BatchAppendRespSchema, messages[0]!);
    expect(result).toMatchObject({ case: 'error', value: { code: status.DEADLINE_EXCEEDED } });
    expect((result.value as { message: string }).message).toContain('nothing was written');
  });

  it.each(['zz\0three', '\0abc', 'execution\0-x', 'abc\0'])('refuses the stream name %j', async (name) => {
    expect(await append(name, ['A'])).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const { code, message } = await read({
      streamOption: { case: 'stream', value: { streamIdentifier: { streamName: Buffer.from(name) } } },
      countOption: { case: 'count', value: 1n },
    });
    expect({ code, message }).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('stream_identifier') as string,
    });
  });

  it('refuses an event type with a NUL, and writes nothing', async () => {
    const name = newStreamName();
    expect(await append(name, ['A', 'a\0b'])).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('metadata.type') as string,
    });
    expect(await readOf(name, { from: 'start', count: 1 })).toEqual(['streamNotFound']);
  });

  it('names a stream in an error as the client wrote it', async () => {
    const name = `größe-100%-${randomUUID()}`;
    const streamIdentifier = { streamName: Buffer.from(name) };
    const options = { streamIdentifier, expectedStreamRevision: { case: 'any', value: empty } } as const;
    const body = framed(toBinary(TombstoneReqSchema, create(TombstoneReqSchema, { options })));
    expect(await callRaw(session, pathOf('Tombstone'), { body })).toMatchObject({ code: 'OK' });
    expect(await append(name, ['A'])).toMatchObject({ message: `stream ${name} is deleted` });
  });

  describe('a NUL in other texts', () => {
    const settings = { historyBufferSize: 100, readBatchSize: 10 };
    /** The request that creates a group of consumers of the whole log, with some options replaced. */
    const groupOf = (group: Partial<CreateOptions>): Buffer =>
      framed(
        toBinary(
          CreateReqSchema,
          create(CreateReqSchema, {
            options: {
              streamOption: { case: 'all', value: { filterOption: { case: 'noFilter', value: empty } } },
              groupName: randomUUID(),
              settings,
              ...group,
            },
          }),
        ),
      );
    /** A message of a consumer. */
    const consuming = (content: MessageInitShape<typeof ConsumeReqSchema>['content']): Buffer =>
      framed(toBinary(ConsumeReqSchema, create(ConsumeReqSchema, content && { content })));
    const filter = (expression: { regex?: string; prefix?: string[] }) =>
      ({
        case: 'filter',
        value: { filter: { case: 'streamIdentifier', value: expression }, checkpointIntervalMultiplier: 1 },
      }) as const;
    const wholeLog = (expression: { regex?: string; prefix?: string[] }): Partial<CreateOptions> => ({
      streamOption: { case: 'all', value: { filterOption: filter(expression) } },
    });
    /** The refusal of a NUL in a field. */
    const refused = (field: string) => ({
      code: 'INVALID_ARGUMENT',
      message: `invalid value for ${field}: it has a NUL character`,
    });

    it.each([
      ['options.all.filter.stream_identifier.regex', wholeLog({ regex: 'a\0b' })],
      ['options.all.filter.stream_identifier.prefix', wholeLog({ prefix: ['a', 'a\0b'] })],
      ['options.group_name', { groupName: 'a\0b' }],
      ['options.settings.consumer_strategy', { settings: { ...settings, consumerStrategy: 'Pin\0ned' } }],
    ])('is refused in %s of a new group of consumers', async (field, group) => {
      expect(await callRaw(session, `${GROUPS}/Create`, { body: groupOf(group) })).toMatchObject(refused(field));
    });

    it('is refused in the reason with which a consumer refuses an event', async () => {
      const groupName = randomUUID();
      expect(await callRaw(session, `${GROUPS}/Create`, { body: groupOf({ groupName }) })).toMatchObject({
        code: 'OK',
      });
      const options = { streamOption: { case: 'all', value: empty }, groupName, bufferSize: 1 } as const;
      const sent = [
        consuming({ case: 'options', value: options }),
        consuming({ case: 'nack', value: { reason: 'a\0b' } }),
      ];
      const answer = await callRaw(session, `${GROUPS}/Read`, { body: Buffer.concat(sent) });
      expect(answer).toMatchObject(refused('nack.reason'));
    });

    it.each([{ regex: 'a\0b' }, { prefix: ['a\0b'] }])('is refused in the filter %j of a read', async (expression) => {
      const all = { case: 'all', value: { allOption: { case: 'start', value: empty } } } as const;
      const [key] = Object.keys(expression);
      for (const countOption of [
        { case: 'count', value: 1n } as const,
        { case: 'subscription', value: empty } as const,
      ])
        expect(await read({ streamOption: all, countOption, filterOption: filter(expression) })).toMatchObject(
          refused(`options.filter.stream_identifier.${key}`),
        );
    });
  });

  it('describes a group whose times are longer than an answer can say', async () => {
    const groupName = randomUUID();
    const source = {
      case: 'stream',
      value: { streamIdentifier: { streamName: Buffer.from(newStreamName()) } },
    } as const;
    const settings = {
      ...{ historyBufferSize: 100, readBatchSize: 10 },
      messageTimeout: { case: 'messageTimeoutTicks', value: 2n ** 63n - 1n },
      checkpointAfter: { case: 'checkpointAfterTicks', value: -(2n ** 63n) },
    } as const;
    const group = create(CreateReqSchema, { options: { streamOption: source, groupName, settings } });
    const created = await callRaw(session, `${GROUPS}/Create`, { body: framed(toBinary(CreateReqSchema, group)) });
    expect(created).toMatchObject({ code: 'OK' });
    const all = create(ListReqSchema, { options: { listOption: { case: 'listAllSubscriptions', value: empty } } });
    const listed = await callRaw(session, `${GROUPS}/List`, { body: framed(toBinary(ListReqSchema, all)) });
    const { subscriptions } = fromBinary(ListRespSchema, listed.messages[0]!);
    expect(subscriptions.find((each) => each.groupName === groupName)).toMatchObject({
      messageTimeoutMilliseconds: 2 ** 31 - 1,
      checkPointAfterMilliseconds: -(2 ** 31) + 1,
    });
  });

  describe('for HTTP requests on the same port', () => {
    const get = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`http://${server.address}${path}`, init);

    it('gives its version, role and features at /info', async () => {
      const answer = await get('/info');
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/u);
      expect(await answer.json()).toEqual({
        esVersion: '23.10.6.0',
        state: 'leader',
        features: { projections: false, userManagement: false, atomPub: false },
        authentication: { type: 'insecure', properties: {} },
      });
    });

    it('answers /health/live with 204, or with the status that the request names', async () => {
      expect((await get('/health/live')).status).toBe(204);
      expect((await get('/health/live?liveCode=200', { method: 'HEAD' })).status).toBe(200);
    });

    it('answers over HTTP/2, which clients such as curl use over TLS, as over HTTP/1.1', async () => {
      const overHttp2 = async (path: string, method = 'GET'): Promise<{ status: number; body: string }> => {
        const stream = session.request({ ':path': path, ':method': method });
        const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
        return { status: Number(headers[':status']), body: await text(stream) };
      };
      expect(await overHttp2('/health/live')).toEqual({ status: 204, body: '' });
      expect(await overHttp2('/health/live?liveCode=200', 'HEAD')).toEqual({ status: 200, body: '' });
      for (const path of ['/info', '/streams/orders']) {
        const overHttp1 = await get(path);
        expect(await overHttp2(path)).toEqual({ status: overHttp1.status, body: await overHttp1.text() });
      }
      expect(await overHttp2('/info', 'HEAD')).toEqual({ status: 200, body: '' });
      expect(await overHttp2('/info', 'PUT')).toMatchObject({ status: 405 });
      expect(JSON.parse((await overHttp2('/gossip')).body)).toMatchObject({ serverIp: '127.0.0.1' });
    });

    it('names itself as the only node at /gossip, with the last position of its log', async () => {
      await append(newStreamName(), ['A']);
      const [host, port] = server.address.split(':');
      const { members, ...place } = (await (await get('/gossip')).json()) as { members: Record<string, unknown>[] };
      expect(place).toEqual({ serverIp: host, serverPort: Number(port) });
      expect(members).toHaveLength(1);
      expect(members[0]).toMatchObject({
        state: 'Leader',
        isAlive: true,
        httpEndPointIp: host,
        httpEndPointPort: Number(port),
        esVersion: '23.10.6',
      });
      const { lastCommitPosition: before } = members[0]!;
      await append(newStreamName(), ['A', 'B']);
      const { members: after } = (await (await get('/gossip')).json()) as { members: Record<string, unknown>[] };
      expect(after[0]!['lastCommitPosition']).toBe(Number(before) + 2); // one more for each event
    });

    it('names the address that the client has connected to, which may differ from the one that the server listens on', async () => {
      const [, port] = server.address.split(':');
      const gossip = (await (await fetch(`http://localhost:${port}/gossip`)).json()) as Record<string, unknown>;
      expect([gossip['serverIp'], gossip['serverPort']]).toEqual(['localhost', Number(port)]);
      const endpointFor = async (authority: string): Promise<unknown> => {
        const call = { body: framed(new Uint8Array()), headers: { ':authority': authority } };
        const { messages } = await callRaw(session, `/${Gossip.typeName}/Read`, call);
        const [member] = fromBinary(ClusterInfoSchema, messages[0]!).members;
        const { address, port: at } = member!.httpEndPoint!;
        return [address, at];
      };
      expect(await endpointFor('logs.example.com:443')).toEqual(['logs.example.com', 443]);
      expect(await endpointFor('[fd00::1]:2113')).toEqual(['fd00::1', 2113]);
      expect(await endpointFor('logs.example.com')).toEqual(['logs.example.com', Number(port)]);
    });

    it.each(['/subscriptions/orders/group/info', '/streams/orders', '/', '/info/options'])(
      'answers %s with 404 and the paths that it has',
      async (path) => {
        for (const method of ['GET', 'POST']) {
          const answer = await get(path, { method, ...(method === 'POST' && { body: 'a'.repeat(100_000) }) });
          expect(answer.status).toBe(404);
          expect(await answer.text()).toContain('/info, /gossip, /health/live');
        }
      },
    );

    // Each row: the bytes that are sent, an offset in the answer, and the text that the answer has there.
    it.each([
      ['GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n', 0, 'HTTP/1.1 204 '],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 3, '\x04\0'], // the type and flags of a SETTINGS frame
      ['G\0\0\0', 0, 'HTTP/1.1 400 '],
    ])('tells HTTP/1.1 and HTTP/2 apart when bytes come one by one: %j', async (sent, offset, answer) => {
      const [host = '', port = ''] = server.address.split(':');
      const socket = connectSocket({ host, port: Number(port), noDelay: true });
      for (const byte of Buffer.from(sent, 'latin1'))
        await new Promise((resolve) => socket.write(Uint8Array.of(byte), resolve));
      socket.end();
      const [received] = (await once(socket, 'data')) as [Buffer];
      expect(received.toString('latin1', offset, offset + answer.length)).toBe(answer);
      socket.destroy();
    });
  });

  it('ends subscriptions and streams of appends with UNAVAILABLE when it is stopped', async () => {
    const subscription = {
      streamOption: { case: 'all', value: { allOption: { case: 'end', value: empty } } },
      filterOption: { case: 'noFilter', value: empty },
      uuidOption: { content: { case: 'string', value: empty } },
      countOption: { case: 'subscription', value: empty },
    } as const;
    const follow = framed(toBinary(ReadReqSchema, create(ReadReqSchema, { options: subscription })));
    const statuses = ['Read', 'BatchAppend'].map(async (rpc) => {
      const call = openRaw(session, pathOf(rpc));
      const received = new Promise<unknown>((resolve) => {
        const take = (headers: object): void => {
          if ('grpc-status' in headers) resolve(headers['grpc-status']);
        };
        call.on('response', take).on('trailers', take).on('error', resolve);
      });
      if (rpc === 'Read') call.end(follow);
      call.resume();
      const code = await received;
      call.end();
      return [rpc, code];
    });
    await read({ ...subscription, countOption: { case: 'count', value: 1n } }); // the calls before have arrived
    await server.stop();
    expect(await Promise.all(statuses)).toEqual([
      ['Read', String(status.UNAVAILABLE)],
      ['BatchAppend', String(status.UNAVAILABLE)],
    ]);
  });
});
