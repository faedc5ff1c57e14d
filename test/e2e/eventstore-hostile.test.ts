import { mkdtempSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  create,
  type DescMessage,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Gossip } from '../../proto/gen/event_store/client/gossip_pb.js';
import {
  DeleteReqSchema as GroupDeleteReqSchema,
  GetInfoReqSchema,
  ListReqSchema,
  PersistentSubscriptions,
  ReadReqSchema as ConsumeReqSchema,
  ReplayParkedReqSchema,
  UpdateReqSchema,
} from '../../proto/gen/event_store/client/persistent_pb.js';
import { ServerFeatures } from '../../proto/gen/event_store/client/server_features_pb.js';
import {
  AppendReqSchema,
  BatchAppendReqSchema,
  BatchAppendRespSchema,
  DeleteReqSchema,
  ReadReq_Options_ReadDirection,
  ReadReqSchema,
  ReadRespSchema,
  Streams,
  TombstoneReqSchema,
} from '../../proto/gen/event_store/client/streams_pb.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { counted } from '../support/runner/cases.js';
import { type ControlPlane, startControlPlane } from '../support/processes/control-plane.js';
import { type Hostile, hostileTo, NUL_BYTES } from '../support/requests/hostile.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { callRaw, framed, type RawAnswer } from '../support/clients/raw-call.js';
import { logDirectory } from '../support/processes/test-log.js';

const LIMIT_MS = 60_000;
/** The status codes that no request may get, whatever its bytes; `RESET` is a call that ended without one. */
const NEVER = new Set(['UNKNOWN', 'INTERNAL', 'UNAVAILABLE', 'CANCELLED', 'DATA_LOSS', 'DEADLINE_EXCEEDED', 'RESET']);

const empty = {};
const stream = { streamName: Buffer.from('orders-1') };
const id = { value: { case: 'string', value: '01234567-89ab-cdef-0123-456789abcdef' } } as const;
/** A UUID as two integers. */
const structured = {
  value: { case: 'structured', value: { mostSignificantBits: 1n, leastSignificantBits: -1n } },
} as const;
const event = {
  id,
  metadata: { type: 'Counted', 'content-type': 'application/json' },
  customMetadata: Buffer.from('{}'),
  data: Buffer.from('{"some":"data"}'),
};
const filter = {
  filter: { case: 'streamIdentifier' as const, value: { prefix: ['order'] } },
  checkpointIntervalMultiplier: 1,
};
const wholeLog = {
  case: 'all',
  value: { allOption: { case: 'position', value: { commitPosition: 1n, preparePosition: 1n } } },
} as const;
const oneStream = {
  case: 'stream',
  value: { streamIdentifier: stream, revisionOption: { case: 'revision', value: 0n } },
} as const;
const uuidOption = { content: { case: 'structured', value: empty } } as const;
const count = { case: 'count', value: 10n } as const;
const subscription = { case: 'subscription', value: empty } as const;
const noFilter = { case: 'noFilter', value: empty } as const;
const filtered = { case: 'filter', value: filter } as const;
/** Options that every read has. */
const readOptions = { uuidOption, controlOption: { compatibility: 1 } } as const;

/** A valid request, of which bytes are changed; `before` is sent first on the same call. */
type Whole = {
  readonly what: string;
  readonly path: string;
  readonly type: DescMessage;
  readonly base: Message;
  readonly before?: Uint8Array;
};

const whole = <Desc extends DescMessage>(
  [what, path]: readonly [what: string, path: string],
  type: Desc,
  base: MessageInitShape<Desc>,
  before?: MessageInitShape<Desc>,
): Whole => ({
  what,
  path,
  type,
  base: create(type, base),
  ...(before && { before: toBinary(type, create(type, before)) }),
});

const STREAMS = `/${Streams.typeName}`;
const READ = `${STREAMS}/Read`;
const APPEND = `${STREAMS}/Append`;
const BATCH = `${STREAMS}/BatchAppend`;
/** The options of writes, which expect a revision that no stream has. */
const options = { streamIdentifier: stream, expectedStreamRevision: { case: 'revision', value: 7n } } as const;
const YEAR_2096 = { seconds: 4_000_000_000n };
const batched = {
  streamIdentifier: stream,
  expectedStreamPosition: { case: 'streamPosition', value: 7n },
  deadlineOption: { case: 'deadline', value: { seconds: 10n, nanos: 1 } },
} as const;

const GROUPS = `/${PersistentSubscriptions.typeName}`;
const source = { case: 'streamIdentifier', value: stream } as const;
const named = { streamOption: source, groupName: 'group' } as const;

/** Requests about groups of consumers, of which the server has none. */
const groupsNotThere: readonly Whole[] = [
  whole(['Read of a group', `${GROUPS}/Read`], ConsumeReqSchema, {
    content: { case: 'options', value: { ...named, bufferSize: 10, uuidOption } },
  }),
  whole(['Update of a group', `${GROUPS}/Update`], UpdateReqSchema, {
    options: {
      streamOption: {
        case: 'all',
        value: { allOption: { case: 'position', value: { commitPosition: 1n } }, filterOption: filtered },
      },
      groupName: 'group',
      settings: { messageTimeout: { case: 'messageTimeoutTicks', value: 1n }, historyBufferSize: 100 },
    },
  }),
  whole(['Delete of a group', `${GROUPS}/Delete`], GroupDeleteReqSchema, { options: named }),
  whole(['GetInfo', `${GROUPS}/GetInfo`], GetInfoReqSchema, { options: named }),
  whole(['ReplayParked', `${GROUPS}/ReplayParked`], ReplayParkedReqSchema, {
    options: { ...named, stopAtOption: { case: 'stopAt', value: 1n } },
  }),
  whole(['List', `${GROUPS}/List`], ListReqSchema, {
    options: { listOption: { case: 'listForStream', value: { streamOption: { case: 'stream', value: stream } } } },
  }),
];

/** Valid requests. The writes expect a revision that no stream has, so that even a valid one changes nothing. */
const WHOLE: readonly Whole[] = [
  whole(['Read of a stream', READ], ReadReqSchema, {
    options: { streamOption: oneStream, countOption: count, filterOption: noFilter, ...readOptions },
  }),
  whole(['Read of everything', READ], ReadReqSchema, {
    options: {
      streamOption: wholeLog,
      readDirection: ReadReq_Options_ReadDirection.Backwards,
      countOption: count,
      filterOption: filtered,
      ...readOptions,
    },
  }),
  whole(['Read of a stream without end', READ], ReadReqSchema, {
    options: { streamOption: oneStream, countOption: subscription, filterOption: noFilter, ...readOptions },
  }),
  whole(['Read of everything without end', READ], ReadReqSchema, {
    options: { streamOption: wholeLog, countOption: subscription, filterOption: filtered, ...readOptions },
  }),
  whole(['Append, its options', APPEND], AppendReqSchema, { content: { case: 'options', value: options } }),
  whole(
    ['Append, an event', APPEND],
    AppendReqSchema,
    { content: { case: 'proposedMessage', value: event } },
    { content: { case: 'options', value: options } },
  ),
  whole(['BatchAppend', BATCH], BatchAppendReqSchema, {
    correlationId: structured,
    options: batched,
    proposedMessages: [event],
    isFinal: true,
  }),
  whole(['BatchAppend whose deadline is a time', BATCH], BatchAppendReqSchema, {
    correlationId: id,
    options: { ...batched, deadlineOption: { case: 'deadlineAt', value: YEAR_2096 } },
    proposedMessages: [event],
    isFinal: true,
  }),
  ...groupsNotThere,
  whole(['Delete', `${STREAMS}/Delete`], DeleteReqSchema, { options }),
  whole(['Tombstone', `${STREAMS}/Tombstone`], TombstoneReqSchema, { options }),
  whole(
    ['GetSupportedMethods', `/${ServerFeatures.typeName}/GetSupportedMethods`],
    ServerFeatures.method.getSupportedMethods.input,
    {},
  ),
  whole(['Gossip', `/${Gossip.typeName}/Read`], Gossip.method.read.input, {}),
];

const isCaughtUp = (message: Buffer): boolean => fromBinary(ReadRespSchema, message).content.case === 'caughtUp';

/** The status codes of a call: its own, and in a batch one for each append. */
const codesIn = (path: string, { code, messages }: RawAnswer): readonly string[] => {
  if (path !== BATCH) return [code];
  return [
    code,
    ...messages.map((message) => {
      const { result } = fromBinary(BatchAppendRespSchema, message);
      return result.case === 'error' ? status[result.value.code]! : 'OK';
    }),
  ];
};

const SERVERS = {
  'a log server': async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-hostile-log-'));
    const server: LogServer = await startLogServer(directory);
    const close = async (): Promise<void> => {
      await server.stop();
      rmSync(directory, { recursive: true });
    };
    return { address: server.address, directory, close };
  },
  'a control plane with --eventstore-mode write': async () => {
    const plane: ControlPlane = await startControlPlane({ FLIGHTLOG_EVENTSTORE_MODE: 'write' });
    const { ready } = plane.server();
    return {
      address: ready.eventstore!,
      directory: logDirectory(plane.directory),
      close: plane.close,
    };
  },
} as const;

describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])('hostile bytes to %s', (which) => {
  let server: Awaited<ReturnType<(typeof SERVERS)[typeof which]>>;
  let session: ClientHttp2Session;
  let log: Awaited<ReturnType<typeof sqliteLogReader>>;

  beforeAll(async () => {
    server = await SERVERS[which]();
    session = connect(`http://${server.address}`);
    log = await sqliteLogReader({ directory: server.directory });
  });
  afterAll(async () => {
    session.destroy();
    await log.close();
    await server.close();
  });

  /** Sends a request, and describes what is wrong with the answer; `undefined` when nothing is. */
  const faultOf = async ({ path, before }: Whole, { bytes, what }: Hostile): Promise<string | undefined> => {
    const head = await log.head();
    const body = Buffer.concat([...(before ? [framed(before)] : []), framed(bytes)]);
    const said = await callRaw(session, path, { body, isEnough: path === READ ? isCaughtUp : () => false });
    // Each append of a batch has its own deadline, which may have passed.
    const codes = codesIn(path, said).filter((code) => path !== BATCH || code !== 'DEADLINE_EXCEEDED');
    const recorded = (await log.head()) - head;
    if (recorded > 0n && codes.some((code) => code !== 'OK'))
      return `${what}: ${codes.join()}: it recorded ${recorded} events`;
    if (what.endsWith(`: ${NUL_BYTES}`) && !codes.includes('INVALID_ARGUMENT')) return `${what}: ${codes.join()}`;
    return codes.some((code) => NEVER.has(code)) ? `${what}: ${codes.join()}: ${said.message}` : undefined;
  };

  it.for(WHOLE.map((each) => [each.what, each] as const))(
    'as a request of %s cause no failure of the server, and are recorded only when the answer is OK',
    { timeout: LIMIT_MS },
    async ([, each], context) => {
      const cases = hostileTo(each.type, each.base);
      const faults: string[] = [];
      for (const hostile of cases) {
        const fault = await faultOf(each, hostile);
        if (fault !== undefined) faults.push(fault);
      }
      counted(context, cases.length);
      expect(faults).toEqual([]);
    },
  );
});
