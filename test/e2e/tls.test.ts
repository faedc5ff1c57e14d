import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EventStoreDBClient } from '@eventstore/db-client';
import { type ChannelCredentials, Client, credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { certificates } from '../support/servers/certificates.js';
import { flightlog } from '../support/processes/command.js';
import { startLogServer } from '../support/processes/log-server.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const certificateFiles = certificates();
const data = mkdtempSync(join(tmpdir(), 'tls-'));
/** The content of a file of a certificate or key. */
const pem = (name: string): Buffer => readFileSync(certificateFiles.file(name));

beforeAll(() => {
  for (const authority of ['ours', 'another']) certificateFiles.authority(authority);
  certificateFiles.issue('ours', 'server');
  certificateFiles.issue('ours', 'caller');
  certificateFiles.issue('another', 'stranger');
});
afterAll(() => {
  certificateFiles.remove();
  rmSync(data, { recursive: true });
});

/** Flags of a server with the certificate `server`. */
const tlsFlags = ['--tls-cert', certificateFiles.file('server.pem'), '--tls-key', certificateFiles.file('server.key')];
const servers: ServerProcess[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

/** Starts a server, which is stopped after the test. */
const serving = async (
  args: readonly string[] = tlsFlags,
  env: Record<string, string> = {},
  directory = data,
): Promise<ServerProcess> => {
  const server = await startServerProcess({ data: directory, args, env });
  servers.push(server);
  return server;
};

/** The authority that a client trusts, and the certificate that the client shows, if any. */
type ClientTls = { readonly ca: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
const withCertificate = (name: string): ClientTls => ({
  ca: pem('ours.pem'),
  cert: pem(`${name}.pem`),
  key: pem(`${name}.key`),
});

/** The HTTP status of a GET, or `refused` when the connection fails. */
const overRest = (url: string, tls: ClientTls, headers: Record<string, string> = {}): Promise<number | string> =>
  new Promise((resolve) => {
    const asked = request(url, { ...tls, headers, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on('error', () => resolve('refused')).end();
  });

const textOf = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { ca: pem('ours.pem'), agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => resolve(text));
    });
    asked.on('error', reject).end();
  });

const versionOf = ({ ready }: ServerProcess): string => `${ready.http}/api/v1/version`;

const asIs = (bytes: Buffer): Buffer => bytes;

const VERSION = '/flyteidl.service.AdminService/GetVersion';

/** The gRPC status of a call without fields. */
const overGrpc = ({ ready }: Pick<ServerProcess, 'ready'>, how: ChannelCredentials, path = VERSION): Promise<number> =>
  new Promise((resolve) => {
    // RFC 6066 allows no IP address as the name of a server.
    const client = new Client(ready.grpc.replace('127.0.0.1', 'localhost'), how);
    const deadline = Date.now() + 20_000;
    client.makeUnaryRequest(path, asIs, asIs, Buffer.alloc(0), { deadline }, (error) => {
      client.close();
      resolve(error?.code ?? 0);
    });
  });

const channel = ({ ca, key, cert }: ClientTls): ChannelCredentials =>
  credentials.createSsl(ca, key ?? null, cert ?? null);

/** Statuses of gRPC. */
const OK = 0;
const UNAVAILABLE = 14;

const portOf = (address: string): string => address.split(':').at(-1) ?? '';

/** The connection string of an official client of the EventStoreDB protocol. */
const clientUrl = (address: string, shows?: string): string => {
  const own =
    shows === undefined
      ? ''
      : `&userCertFile=${certificateFiles.file(`${shows}.pem`)}&userKeyFile=${certificateFiles.file(`${shows}.key`)}`;
  return `esdb://localhost:${portOf(address)}?tls=true&tlsCAFile=${certificateFiles.file('ours.pem')}${own}`;
};

/** The number of events that an official client reads, or `refused`. */
const overEventstore = async (url: string): Promise<number | 'refused'> => {
  const client = EventStoreDBClient.connectionString(url);
  let events = 0;
  try {
    for await (const { event } of client.readAll()) events += event === undefined ? 0 : 1;
    return events;
  } catch {
    return 'refused';
  } finally {
    await client.dispose();
  }
};

/** The bytes that a client without TLS receives until the server closes the connection. */
const firstBytesWithoutTls = ({ ready }: ServerProcess): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(ready.http).port), '127.0.0.1');
    let said = '';
    socket.on('data', (chunk) => (said += chunk.toString('latin1'))).on('error', () => undefined);
    socket.on('close', () => resolve(said));
    socket.write('GET /api/v1/version HTTP/1.1\r\nHost: x\r\n\r\n');
  });

/** The projects that the command line lists over gRPC with a line in its configuration, or the error. */
const fromCommandLine = async ({ ready }: ServerProcess, line: string): Promise<string> => {
  const file = certificateFiles.file('profile.yaml');
  writeFileSync(file, `admin:\n  endpoint: dns:///localhost:${portOf(ready.grpc)}\n  ${line}\n`);
  const { stdout, stderr } = await flightlog(['list', 'projects', '-o', 'name', '--profile', file]).ended;
  return stdout || stderr;
};

describe('with a certificate', () => {
  it('gRPC and REST speak TLS to clients that trust its authority or do not verify it, and to no others', async () => {
    const server = await serving(tlsFlags, { FLIGHTLOG_PROJECTS: '[flytesnacks]' }, join(data, 'projects'));
    expect(server.ready.http).toMatch(/^https:/);
    const [trusting, wrong] = [{ ca: pem('ours.pem') }, { ca: pem('another.pem') }];
    expect(await overRest(versionOf(server), trusting)).toBe(200);
    expect(await overGrpc(server, channel(trusting))).toBe(OK);
    expect(await overRest(versionOf(server), wrong)).toBe('refused');
    expect(await overGrpc(server, channel(wrong))).toBe(UNAVAILABLE);
    expect(await overGrpc(server, credentials.createInsecure())).toBe(UNAVAILABLE);
    expect(await firstBytesWithoutTls(server)).not.toContain('200');
    expect(await fromCommandLine(server, 'insecureSkipVerify: false')).toMatch(/^flightlog: no server answers at /u);
    expect(await fromCommandLine(server, `caCertFilePath: ${certificateFiles.file('ours.pem')}`)).toBe('flytesnacks\n');
    expect(await fromCommandLine(server, 'insecureSkipVerify: true')).toBe('flytesnacks\n');
  });

  it('clients must show a certificate of the authority that is configured for them', async () => {
    const server = await serving(tlsFlags, { FLIGHTLOG_TLS_CLIENT_CA_FILE: certificateFiles.file('ours.pem') });
    expect(await overRest(versionOf(server), withCertificate('caller'))).toBe(200);
    expect(await overGrpc(server, channel(withCertificate('caller')))).toBe(OK);
    for (const refused of [{ ca: pem('ours.pem') }, withCertificate('stranger')]) {
      expect(await overRest(versionOf(server), refused)).toBe('refused');
      expect(await overGrpc(server, channel(refused))).toBe(UNAVAILABLE);
    }
  });
});

describe('the EventStoreDB protocol', () => {
  /** The number of events in the log of a new server: its format and the project. */
  const FIRST_EVENTS = 2;
  const projects = { FLIGHTLOG_PROJECTS: '["flytesnacks"]', FLIGHTLOG_EVENTSTORE_MODE: 'read' };

  it('speaks TLS with the certificate of the server', async () => {
    const { ready } = await serving(tlsFlags, projects);
    const { eventstore = '' } = ready;
    expect(await overEventstore(clientUrl(eventstore))).toBe(FIRST_EVENTS);
    expect(await overEventstore(clientUrl(eventstore).replace('ours.pem', 'another.pem'))).toBe('refused');
    expect(await overEventstore(`esdb://localhost:${portOf(eventstore)}?tls=false`)).toBe('refused');
    const info = `https://127.0.0.1:${portOf(eventstore)}/info`;
    expect(await overRest(info, { ca: pem('ours.pem') })).toBe(200);
    expect(await overRest(info, { ca: pem('another.pem') })).toBe('refused');
  });

  it('refuses clients without a certificate of the authority that is configured for them', async () => {
    const { ready } = await serving(tlsFlags, {
      ...projects,
      FLIGHTLOG_TLS_CLIENT_CA_FILE: certificateFiles.file('ours.pem'),
    });
    const { eventstore = '' } = ready;
    expect(await overEventstore(clientUrl(eventstore, 'caller'))).toBe(FIRST_EVENTS);
    expect(await overEventstore(clientUrl(eventstore, 'stranger'))).toBe('refused');
    expect(await overEventstore(clientUrl(eventstore))).toBe('refused');
  });

  it('carries the log of a control plane over TLS, to a host name and to an IP address', async () => {
    const log = await startLogServer(join(data, 'log'), tlsFlags);
    const byName = clientUrl(log.address);
    // The format of the log, its id and the project are its first three events.
    for (const url of [byName, byName.replace('localhost', '127.0.0.1')]) {
      // Views belong to one log, and those in `data` to that of other tests, so this server has another directory.
      const server = await serving(['--event-store', url], projects, join(data, 'on-another-log'));
      expect(await overEventstore(byName)).toBe(3);
      expect(await server.stop()).toBe(0);
      expect(server.log()).not.toContain('DEP0123'); // Node warns of a server name that is an IP address
      servers.pop();
    }
    await log.stop();
  });
});

/** The name in the certificate that a port shows, in a handshake of its own. */
const shownBy = (port: string): Promise<string> =>
  new Promise((resolve) => {
    const options = { port: Number(port), host: '127.0.0.1', ca: pem('ours.pem'), ALPNProtocols: ['h2', 'http/1.1'] };
    const socket = connectTls(options, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', () => resolve('refused'));
  });

describe('a client certificate that the configuration maps to a principal', () => {
  const PERMISSION_DENIED = 7;
  const UNAUTHENTICATED = 16;
  const listed = '/flyteidl.service.AdminService/ListProjects';

  it('makes the principal the caller on every port, with its roles, unless a page of another site asks', async () => {
    certificateFiles.issue('ours', 'engine', ['URI:spiffe://cluster/engine']);
    const { ready } = await serving(
      tlsFlags,
      {
        FLIGHTLOG_TLS_CLIENT_CA_FILE: certificateFiles.file('ours.pem'),
        FLIGHTLOG_EVENTSTORE_MODE: 'read',
        FLIGHTLOG_AUTH_CERTIFICATES: JSON.stringify([
          { uri: 'spiffe://cluster/engine', principal: 'engine', roles: ['engine'] },
          { common_name: 'caller', principal: 'ada', roles: ['administrator'] },
        ]),
      },
      join(data, 'with certificates'),
    );
    const asRest = async (name: string, path: string, headers = {}) =>
      overRest(`${ready.http}${path}`, withCertificate(name), headers);
    const asGrpc = async (name: string, path: string) => overGrpc({ ready }, channel(withCertificate(name)), path);
    expect(await asRest('caller', '/api/v1/me')).toBe(200);
    expect(await asRest('server', '/api/v1/me')).toBe(401); // verified, but mapped to no principal
    expect(await asRest('caller', '/metrics')).toBe(200);
    expect(await asRest('caller', '/api/v1/audit')).toBe(200);
    expect(await asRest('engine', '/api/v1/audit')).toBe(403);
    expect(await asRest('caller', '/api/v1/me', { authorization: 'Bearer wrong' })).toBe(401);
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://other.example' }])
      expect(await asRest('caller', '/api/v1/me', headers)).toBe(401);
    expect(await asRest('caller', '/api/v1/me', { 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(await asGrpc('caller', listed)).toBe(OK);
    expect(await asGrpc('server', listed)).toBe(UNAUTHENTICATED);
    expect(await asGrpc('engine', '/platformidl.eventlog.AuditService/List')).toBe(PERMISSION_DENIED);
    const { eventstore = '' } = ready;
    expect(await overEventstore(clientUrl(eventstore, 'caller'))).toBeGreaterThan(0);
    expect(await overEventstore(clientUrl(eventstore, 'server'))).toBe('refused');
  });
});

describe('certificates that replace others while a server runs', () => {
  const [cert, key] = [certificateFiles.file('used.pem'), certificateFiles.file('used.key')];
  const use = (name: string): void => {
    copyFileSync(certificateFiles.file(`${name}.pem`), cert);
    copyFileSync(certificateFiles.file(`${name}.key`), key);
  };

  it('are shown to new connections on every port, and not when they cannot be used', async () => {
    certificateFiles.issue('ours', 'renewed');
    use('server');
    const own = ['--tls-cert', cert, '--tls-key', key];
    const { ready, log } = await serving(own, { FLIGHTLOG_EVENTSTORE_MODE: 'read' });
    const ports = [ready.grpc, ready.http, ready.eventstore ?? ''].map(portOf);
    const namesShown = () => Promise.all(ports.map(shownBy));
    expect(await namesShown()).toEqual(['server', 'server', 'server']);
    use('renewed');
    await until(namesShown, (names) => names.every((name) => name === 'renewed'));
    copyFileSync(certificateFiles.file('caller.pem'), cert); // the key is of another certificate
    const metrics = await until(
      () => textOf(`${ready.http}/metrics`),
      (text) => text.includes('flightlog_tls_reloads_total{outcome="failed"} 1'),
    );
    expect(metrics).toContain('flightlog_tls_reloads_total{outcome="loaded"} 1');
    expect(log()).toContain('is not the key of tls.cert_file');
    expect(await namesShown()).toEqual(['renewed', 'renewed', 'renewed']);
  });
});

describe('a server does not start', () => {
  it.each([
    ['without its key', ['--tls-cert', 'server.pem'], 'tls.key_file: must be given with tls.cert_file'],
    [
      'with a file that is not there',
      ['--tls-cert', 'none.pem', '--tls-key', 'server.key'],
      'tls.cert_file: cannot be read',
    ],
    ['with the key of another certificate', ['--tls-cert', 'server.pem', '--tls-key', 'caller.key'], 'tls.key_file: '],
    ['with a file that is no certificate', ['--tls-cert', 'server.csr', '--tls-key', 'server.key'], 'tls.cert_file: '],
  ])('%s', async (_how, args, said) => {
    const files = args.map((each) => (each.startsWith('--') ? each : certificateFiles.file(each)));
    await expect(startServerProcess({ data, args: files })).rejects.toThrow(said);
  });
});
