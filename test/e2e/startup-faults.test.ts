import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { certificates } from '../support/certificates.js';
import { type Ended, flightlog, freePort, type Running } from '../support/command.js';
import { type LogServer, startLogServer } from '../support/log-server.js';
import {
  closingServer,
  greetingServer,
  http2Server,
  httpServer,
  type OtherServer,
  silentServer,
} from '../support/other-servers.js';
import { startProxy } from '../support/proxy.js';
import { type ServerProcess, startServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';

const LIMIT_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'flightlog-startup-'));
const EMBEDDED = ['--event-store', 'embedded:', '--read-store', 'sqlite:'];
let count = 0;

const serve = (args: readonly string[], data = join(folder, `data-${(count += 1)}`), level = 'error'): Running =>
  flightlog([
    ...['serve', '--insecure', '--data', data, '--log-level', level],
    ...['--grpc-port', '0', '--http-port', '0', '--eventstore-port', '0'],
    ...args,
  ]);

/** Expects that the process ends with one line on standard error, and was never ready. */
const expectRefused = (ended: Ended, line: string | RegExp): void => {
  const told = typeof line === 'string' ? `flightlog: ${line}\n` : (expect.stringMatching(line) as string);
  expect(ended).toEqual({ code: 1, stdout: '', stderr: told });
};

const others = new Map<string, OtherServer>();
const at = (name: string): string => others.get(name)?.address ?? '';
const portOf = (address: string): string => address.split(':').at(-1) ?? '';

const made = certificates();
let plain: LogServer;
let secured: LogServer;
let plane: ServerProcess;

beforeAll(async () => {
  made.authority('ours');
  made.issue('ours', 'server');
  const tls = ['--tls-cert', made.file('server.pem'), '--tls-key', made.file('server.key')];
  [plain, secured] = await Promise.all([
    startLogServer(join(folder, 'plain')),
    startLogServer(join(folder, 'secured'), tls),
  ]);
  plane = await startServerProcess({ data: join(folder, 'plane'), args: EMBEDDED });
  others.set('http', await httpServer());
  others.set('http2', await http2Server());
  others.set('ssh', await greetingServer('SSH-2.0-OpenSSH_9.2'));
  others.set('closing', await closingServer());
  others.set('silent', await silentServer());
}, LIMIT_MS);
afterAll(async () => {
  for (const other of others.values()) await other.close();
  await plane.stop();
  await Promise.all([plain.stop(), secured.stop()]);
  rmSync(folder, { recursive: true });
}, LIMIT_MS);

describe('where somebody else is, waiting does not help, and the process ends saying who', () => {
  const tlsWanted = (): string => `esdb://localhost:${portOf(plain.address)}`;
  const plainWanted = (): string => `esdb://localhost:${portOf(secured.address)}?tls=false`;
  const untrusted = (): string => `esdb://localhost:${portOf(secured.address)}`;

  it.for<[string, () => readonly string[], () => string | RegExp]>([
    [
      'a web server as event store',
      () => ['--event-store', `esdb://${at('http')}?tls=false`],
      () => `event_store: ${at('http')} speaks HTTP/1.1`,
    ],
    [
      'one that speaks first as event store',
      () => ['--event-store', `esdb://${at('ssh')}?tls=false`],
      () => `event_store: ${at('ssh')} speaks another protocol, which begins with "SSH-2.0-OpenSSH_9.2"`,
    ],
    [
      'a web server of HTTP/2 as event store',
      () => ['--event-store', `esdb://${at('http2')}?tls=false`],
      () => `event_store: ${at('http2')} speaks HTTP/2, but not gRPC`,
    ],
    [
      'the gRPC of a control plane as event store',
      () => ['--event-store', `esdb://${plane.ready.grpc}?tls=false`],
      () => 'event_store: a server of gRPC answers that is no EventStoreDB',
    ],
    [
      'an event store without TLS where it is wanted',
      () => ['--event-store', tlsWanted()],
      () => `event_store: localhost:${portOf(plain.address)} does not speak TLS: add ?tls=false to the address`,
    ],
    [
      'an event store with TLS where none is wanted',
      () => ['--event-store', plainWanted()],
      () => `event_store: localhost:${portOf(secured.address)} speaks TLS: take tls=false out of the address`,
    ],
    [
      'an event store whose certificate nobody vouches for',
      () => ['--event-store', untrusted()],
      () =>
        new RegExp(
          `^flightlog: event_store: localhost:${portOf(secured.address)} has a certificate that is not trusted here \\(.*\\): name its authority with \\?tlsCAFile=FILE\n$`,
          'u',
        ),
    ],
    [
      'several, none of which is an event store',
      () => ['--event-store', `esdb://${at('http')},${at('ssh')}?tls=false`],
      () => new RegExp(`^flightlog: event_store: ${at('http')} speaks HTTP/1.1, ${at('ssh')} speaks another`, 'u'),
    ],
    [
      'a web server as read store',
      () => ['--read-store', `mongodb://${at('http')}/views?serverSelectionTimeoutMS=500`],
      () => `read_store: ${at('http')} speaks HTTP/1.1`,
    ],
    [
      'an event store as read store',
      () => ['--read-store', `mongodb://${plain.address}/views?serverSelectionTimeoutMS=500`],
      () => `read_store: ${plain.address} speaks HTTP/1.1`,
    ],
    [
      'a web server as broker',
      () => ['--kafka', at('http')],
      () => `cannot go on: kafka: Kafka at ${at('http')} cannot be used: ${at('http')} speaks HTTP/1.1`,
    ],
  ])('%s', { timeout: LIMIT_MS }, async ([, args, line]) => {
    const given = args();
    const embedded = given.includes('--event-store') ? [] : ['--event-store', 'embedded:'];
    const { stdout, ...ended } = await serve([...embedded, ...given, '--log-level', 'fatal']).ended;
    // With Kafka, the process serves until the export has found the wrong server.
    expectRefused({ ...ended, stdout: given.includes('--kafka') ? '' : stdout }, line());
  });
});

describe('where nobody is, it is waited for, which the log says, and taken up once it is there', () => {
  it.for<[string, () => string, string]>([
    ['refuses connections', () => '', 'cannot be reached (ECONNREFUSED)'],
    ['ends every connection', () => at('closing'), 'ends connections without an answer'],
    ['says nothing', () => at('silent'), 'takes connections and says nothing'],
  ])('an event store that %s', { timeout: LIMIT_MS }, async ([, before, why]) => {
    let target = before() === '' ? `127.0.0.1:${await freePort()}` : before();
    const proxy = await startProxy(() => target);
    const address = before() === '' ? target : proxy.address;
    const data = join(folder, `waiting-${(count += 1)}`);
    const port = await freePort();
    const process = serve(['--event-store', `esdb://${address}?tls=false`, '--http-port', String(port)], data, 'warn');
    await until(
      () => Promise.resolve(process.stderr()),
      (log) => log.includes(`${address} ${why}`),
    );
    expect(process.stderr()).toContain('the event store (event_store) cannot be reached; it is tried again');
    expect(process.stdout()).toBe('');
    if (before() === '') {
      const late = await startLogServer(join(folder, 'late'), ['--eventstore-port', portOf(target)]);
      await process.said('"ready":true');
      process.child.kill('SIGTERM');
      expect((await process.ended).code).toBe(0);
      await late.stop();
    } else {
      target = plain.address;
      proxy.cut();
      await process.said('"ready":true');
      process.child.kill('SIGTERM');
      expect((await process.ended).code).toBe(0);
    }
    await proxy.close();
  });
});

describe('a process that waits', () => {
  it.each(['all', 'projector'])(
    'ends at once with 0 when it is told to stop: %s',
    { timeout: LIMIT_MS },
    async (role) => {
      const address = `127.0.0.1:${await freePort()}`;
      const args = ['--event-store', `esdb://${address}?tls=false`, '--role', role];
      const waiting = serve(args, join(folder, `stopped-${role}`), 'warn');
      await until(
        () => Promise.resolve(waiting.stderr()),
        (log) => log.includes(`${address} cannot be reached`),
      );
      waiting.child.kill('SIGTERM');
      const { code, stdout } = await waiting.ended;
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    },
  );
});

describe('what a newer release has written is not touched, and the process ends saying what it is', () => {
  const edited = async (file: string, sql: string): Promise<string> => {
    const data = join(folder, `newer-${(count += 1)}`);
    await (await startServerProcess({ data, args: EMBEDDED })).stop();
    const db = new DatabaseSync(join(data, file));
    db.exec(sql);
    db.close();
    return data;
  };

  it(
    'a log in the data directory',
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
    'views in the data directory, for who keeps them and who rebuilds nothing',
    async () => {
      const data = await edited('views.db', 'PRAGMA user_version = 99');
      expectRefused(
        await serve(EMBEDDED, data).ended,
        /^flightlog: data: views \S+views\.db cannot be used: a newer release has written them \(format 99; this release knows 1\): start that one, or remove them/u,
      );
    },
    LIMIT_MS,
  );

  it(
    'a log in an event store',
    async () => {
      const newer = await startLogServer(join(folder, 'newer-log'));
      const url = `esdb://${newer.address}?tls=false`;
      const client = EventStoreDBClient.connectionString(url);
      const identity = jsonEvent({ type: 'LogStarted', data: { logId: 'theirs', format: 99 } });
      await client.appendToStream('flightlog-identity', identity);
      await client.dispose();
      expectRefused(
        await serve(['--event-store', url]).ended,
        'event_store: a newer release has written the log in the event store (format 99; this release knows 1): start that one',
      );
      await newer.stop();
    },
    LIMIT_MS,
  );
});
