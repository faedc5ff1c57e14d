import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { certificates } from '../support/servers/certificates.js';
import { type Ended, flightlog, freePort, type Running } from '../support/processes/command.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { httpServer, type OtherServer, silentServer } from '../support/servers/other-servers.js';
import { startProxy } from '../support/proxies/proxy.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const LIMIT_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'flightlog-startup-'));
const EMBEDDED = ['--event-store', 'embedded:', '--read-store', 'sqlite:'];
/** Data directories named so far; makes each name unique. */
let count = 0;

/** Starts `flightlog serve`, by default on an empty data directory. */
const serve = (
  args: readonly string[],
  data = join(folder, `data-${(count += 1)}`),
  level = 'error',
  env = {},
): Running =>
  flightlog(
    [
      ...['serve', '--insecure', '--data', data, '--log-level', level],
      ...['--grpc-port', '0', '--http-port', '0', '--eventstore-port', '0'],
      ...args,
    ],
    { env },
  );

/** Expects that the process ends with one line on standard error, and was never ready. */
const expectRefused = (ended: Ended, line: string | RegExp): void => {
  const stderr = typeof line === 'string' ? `flightlog: ${line}\n` : (expect.stringMatching(line) as string);
  expect(ended).toEqual({ code: 1, stdout: '', stderr });
};

/** Servers that are no event store, by name. */
const otherServers = new Map<string, OtherServer>();
const addressOf = (name: string): string => otherServers.get(name)?.address ?? '';
const portOf = (address: string): string => address.split(':').at(-1) ?? '';

const certificateFiles = certificates();
/** A log server without TLS, and one with TLS. */
let plain: LogServer;
let secured: LogServer;
let plane: ServerProcess;

beforeAll(async () => {
  certificateFiles.authority('ours');
  certificateFiles.issue('ours', 'server');
  const tls = ['--tls-cert', certificateFiles.file('server.pem'), '--tls-key', certificateFiles.file('server.key')];
  [plain, secured] = await Promise.all([
    startLogServer(join(folder, 'plain')),
    startLogServer(join(folder, 'secured'), tls),
  ]);
  plane = await startServerProcess({ data: join(folder, 'plane'), args: EMBEDDED });
  otherServers.set('http', await httpServer());
  otherServers.set('silent', await silentServer());
}, LIMIT_MS);
afterAll(async () => {
  for (const other of otherServers.values()) await other.close();
  await plane.stop();
  await Promise.all([plain.stop(), secured.stop()]);
  rmSync(folder, { recursive: true });
}, LIMIT_MS);

describe('an address that cannot work ends the process, which says what is wrong', () => {
  const viewsOverTls = 'views?serverSelectionTimeoutMS=500&tls=true';
  const untrusted =
    'the certificate of the server is not trusted (unable to verify the first certificate): name its authority with';

  it.for<[string, () => readonly string[], string, Readonly<Record<string, string>>?]>([
    [
      'the gRPC of a control plane as event store',
      () => ['--event-store', `esdb://${plane.ready.grpc}?tls=false`],
      'event_store: a gRPC server answers that is not an EventStoreDB',
    ],
    [
      'an event store without TLS at an address that asks for TLS',
      () => ['--event-store', `esdb://localhost:${portOf(plain.address)}`],
      'event_store: the server does not speak TLS: add ?tls=false to the address',
    ],
    [
      'an event store with a certificate of an authority that is not named',
      () => ['--event-store', `esdb://localhost:${portOf(secured.address)}`],
      `event_store: ${untrusted} ?tlsCAFile=FILE`,
    ],
    [
      'a read store without TLS at an address that asks for TLS',
      () => ['--read-store', `mongodb://${plain.address}/${viewsOverTls}`],
      'read_store: the server does not speak TLS: take tls=true out of the address',
    ],
    [
      'a read store with a certificate of an authority that is not named',
      () => ['--read-store', `mongodb://localhost:${portOf(secured.address)}/${viewsOverTls}`],
      `read_store: ${untrusted} tlsCAFile=FILE`,
    ],
    [
      'a broker with a certificate of an authority that is not named',
      () => ['--kafka', `localhost:${portOf(secured.address)}`],
      `stopped by a failure: kafka: Kafka at localhost:PORT cannot be used: ${untrusted} kafka.tls_ca`,
      { FLIGHTLOG_KAFKA_TLS: 'true' },
    ],
  ])('%s', { timeout: LIMIT_MS }, async ([, args, line, env = {}]) => {
    const given = args();
    const embedded = given.includes('--event-store') ? [] : ['--event-store', 'embedded:'];
    const { stdout, ...ended } = await serve([...embedded, ...given, '--log-level', 'fatal'], undefined, 'error', env)
      .ended;
    // With Kafka, the process serves until the export has failed.
    const before = given.includes('--kafka') ? '' : stdout;
    expectRefused({ ...ended, stdout: before }, line.replace('PORT', portOf(secured.address)));
  });
});

describe('an address without an event store is retried, with a warning, and used once an event store answers', () => {
  // Each row: the address at first, or '' for one where no server listens, and the reason that the log names.
  it.for<[string, () => string, string]>([
    ['refuses connections', () => '', 'connect ECONNREFUSED'],
    ['is another HTTP server', () => addressOf('http'), 'Protocol error'],
    ['accepts connections and does not answer', () => addressOf('silent'), 'it accepts calls and does not answer them'],
  ])('an event store that %s', { timeout: LIMIT_MS }, async ([, before, why]) => {
    let target = before() === '' ? `127.0.0.1:${await freePort()}` : before();
    const proxy = await startProxy(() => target);
    const address = before() === '' ? target : proxy.address;
    const data = join(folder, `waiting-${(count += 1)}`);
    const port = await freePort();
    const waiting = serve(['--event-store', `esdb://${address}?tls=false`, '--http-port', String(port)], data, 'warn');
    await until(
      () => Promise.resolve(waiting.stderr()),
      (log) => log.includes(why),
    );
    expect(waiting.stderr()).toContain('the event store (event_store) cannot be reached; retrying');
    expect(waiting.stderr()).toContain('with TLS unless the address has tls=false');
    expect(waiting.stdout()).toBe('');
    if (before() === '') {
      const late = await startLogServer(join(folder, 'late'), ['--eventstore-port', portOf(target)]);
      await waiting.said('"ready":true');
      waiting.child.kill('SIGTERM');
      expect((await waiting.ended).code).toBe(0);
      await late.stop();
    } else {
      target = plain.address;
      proxy.cut();
      await waiting.said('"ready":true');
      waiting.child.kill('SIGTERM');
      expect((await waiting.ended).code).toBe(0);
    }
    await proxy.close();
  });
});

describe('a process that waits for its event store', () => {
  it.each(['all', 'projector'])('exits with 0 at SIGTERM: role %s', { timeout: LIMIT_MS }, async (role) => {
    const address = `127.0.0.1:${await freePort()}`;
    const args = ['--event-store', `esdb://${address}?tls=false`, '--role', role];
    const waiting = serve(args, join(folder, `stopped-${role}`), 'warn');
    await until(
      () => Promise.resolve(waiting.stderr()),
      (log) => log.includes('connect ECONNREFUSED'),
    );
    waiting.child.kill('SIGTERM');
    const { code, stdout } = await waiting.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  });
});

describe('a process ends, and says why, when a newer release has written', () => {
  /** Makes a data directory with one of its databases changed by SQL. */
  const edited = async (file: string, sql: string): Promise<string> => {
    const data = join(folder, `newer-${(count += 1)}`);
    await (await startServerProcess({ data, args: EMBEDDED })).stop();
    const db = new DatabaseSync(join(data, file));
    db.exec(sql);
    db.close();
    return data;
  };

  it(
    'the log in its data directory',
    async () => {
      const data = await edited('log.db', "UPDATE meta SET value = '99' WHERE key = 'schema-version'");
      expectRefused(
        await serve(EMBEDDED, data).ended,
        /^flightlog: data: log \S+log\.db cannot be used: a newer release has written it \(schema version 99; this release knows \d+\)\n$/u,
      );
    },
    LIMIT_MS,
  );

  it(
    'the views in its data directory',
    async () => {
      const data = await edited('views.db', 'PRAGMA user_version = 99');
      expectRefused(
        await serve(EMBEDDED, data).ended,
        /^flightlog: data: views \S+views\.db cannot be used: a newer release has written them \(format 99; this release knows 1\): start that one, or remove them[^\n]*\n$/u,
      );
    },
    LIMIT_MS,
  );

  it(
    'the log in its event store',
    async () => {
      const newer = await startLogServer(join(folder, 'newer-log'));
      const url = `esdb://${newer.address}?tls=false`;
      const client = EventStoreDBClient.connectionString(url);
      const identity = jsonEvent({ type: 'LogStarted', data: { logId: 'theirs', format: 99 } });
      await client.appendToStream('flightlog-identity', identity);
      await client.dispose();
      expectRefused(
        await serve(['--event-store', url]).ended,
        'event_store: a newer release has written the log in the event store (form 99 of its identity; this release knows 1): start that one',
      );
      await newer.stop();
    },
    LIMIT_MS,
  );
});
