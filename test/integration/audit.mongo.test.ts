import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { MongoLocation } from '../../projections/store/mongo/location.js';
import { mongoAuditStore } from '../../projections/store/mongo/mongo-audit-store.js';
import { auditTrail } from '../../services/audit/trail.js';
import type { AuditEntry, AuditQuery } from '../../services/kernel/ports/audit-trail.js';
import { auditStoreContract } from '../contract/audit-store.contract.js';
import { flightlog } from '../support/processes/command.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { startTwoProcesses, type TwoProcesses } from '../support/processes/two-processes.js';
import { until } from '../support/until.js';

const ENTRY: AuditEntry = {
  ...{ kind: 'call', atMs: 1, lastAtMs: 1, count: 1, code: 'OK', reason: '', position: undefined },
  ...{ principal: 'ada', issuer: '', clientId: '', transport: 'grpc', address: '', action: '', requestId: '' },
  ...{ project: '', domain: '', name: 'before' },
};
/** Asks for all entries, up to 1,000. */
const ALL: AuditQuery = { project: '', domain: '', actor: '', sinceMs: 0, after: 0n, limit: 1_000 };

describe.skipIf(mongoUrl === undefined)('an audit store in a MongoDB', () => {
  const location = newMongoLocation();
  afterAll(() => dropDatabase(location));

  auditStoreContract('a MongoDB', () => mongoAuditStore(location));

  it('stores a batch once when it is written again under the same key', async () => {
    const store = await mongoAuditStore(location);
    const after = (await store.list(ALL)).at(-1)?.id ?? 0n;
    const named = (name: string): AuditEntry => ({ ...ENTRY, name });
    const batch = [named('one'), named('two')];
    for (const key of ['first-key', 'first-key', 'second-key']) await store.write(batch, key);
    const found = await store.list({ ...ALL, after });
    expect(found.map(({ id: _, ...entry }) => entry)).toEqual([...batch, ...batch]);
    await store.close();
  });
});

describe.skipIf(mongoUrl === undefined)('an audit in a MongoDB', () => {
  const location = newMongoLocation();
  let proxy: Proxy;
  afterAll(async () => {
    await proxy.close();
    await dropDatabase(location);
  });

  /** The same database, reached only through the proxy. */
  const throughProxy = (): MongoLocation => {
    const url = new URL(location.url);
    url.host = proxy.address;
    url.search = '?directConnection=true&serverSelectionTimeoutMS=200&heartbeatFrequencyMS=500';
    return { ...location, url: url.href };
  };

  it('loses no entry while its server cannot be reached for a moment', async () => {
    proxy = await startProxy(new URL(location.url).host);
    const state = { dropped: 0 };
    const trail = auditTrail({
      store: await mongoAuditStore(throughProxy()),
      ...{ retentionMs: Number.MAX_SAFE_INTEGER, now: Date.now, newKey: randomUUID, onError: () => undefined },
      onDropped: (count) => (state.dropped += count),
    });
    trail.record(ENTRY);
    expect(await trail.list(ALL)).toHaveLength(1);
    proxy.shut();
    trail.record({ ...ENTRY, name: 'meanwhile' });
    await expect(trail.list(ALL)).rejects.toMatchObject({ code: 'store-unavailable' });
    proxy.open();
    trail.record({ ...ENTRY, name: 'after' });
    const found = await until(
      () => trail.list(ALL).catch(() => []),
      (entries) => entries.length > 2,
    );
    expect(found.map(({ name }) => name)).toEqual(['before', 'meanwhile', 'after']);
    expect(state.dropped).toBe(0);
    await trail.close();
  });
});

describe.skipIf(mongoUrl === undefined)('an audit in a MongoDB to which an operator has added an index', () => {
  const location = newMongoLocation();
  afterAll(() => dropDatabase(location));

  it('drops and counts the entry that the index refuses, and stores the others of its batch', async () => {
    const store = await mongoAuditStore(location);
    const client = await MongoClient.connect(location.url);
    await client.db(location.database).collection('audit').createIndex({ name: 1 }, { unique: true });
    await client.close();
    const state = { dropped: 0 };
    const trail = auditTrail({
      ...{ store, retentionMs: Number.MAX_SAFE_INTEGER, now: Date.now, newKey: randomUUID, onError: () => undefined },
      onDropped: (count) => (state.dropped += count),
    });
    trail.record(ENTRY);
    expect(await trail.list(ALL)).toHaveLength(1);
    for (const name of ['one', 'before', 'two']) trail.record({ ...ENTRY, name });
    const found = await trail.list(ALL);
    expect(found.map(({ name }) => name).toSorted()).toEqual(['before', 'one', 'two']);
    expect(state.dropped).toBe(1);
    await trail.close();
  });
});

describe.skipIf(mongoUrl === undefined)('two processes on one log, with their views in a MongoDB', () => {
  const location = newMongoLocation();
  const root = mkdtempSync(join(tmpdir(), 'flightlog-audit-'));
  const SECRET = 'secret-of-both-clients';
  const clients = [
    { id: 'auditor', secret: SECRET, roles: ['administrator'] },
    { id: 'stranger', secret: SECRET },
  ];
  const environment = {
    FLIGHTLOG_AUTH_SERVER_ENABLED: 'true',
    FLIGHTLOG_AUTH_SERVER_USERS_FILE: join(root, 'users.json'),
    FLIGHTLOG_AUTH_SERVER_CLIENTS: JSON.stringify(clients),
    FLIGHTLOG_READ_STORE: location.url,
  };
  let processes: TwoProcesses;
  /** The HTTP addresses of the two processes. */
  let here: string;
  let there: string;
  /** The header with which an auditor asks the process `there`. */
  let authorization: string;

  /** An access token for a client, from the authorization server of a process. */
  const tokenOf = async (client: string, server: string): Promise<string> => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'all' });
    const basic = `Basic ${btoa(`${client}:${SECRET}`)}`;
    const answer = await fetch(`${server}/oauth2/token`, { method: 'POST', headers: { authorization: basic }, body });
    return ((await answer.json()) as { readonly access_token: string }).access_token;
  };

  /** Makes a call that names a project, by a client without permissions. */
  const makeRefusedCall = async (server: string, project: string): Promise<void> => {
    const headers = { authorization: `Bearer ${await tokenOf('stranger', server)}` };
    expect((await fetch(`${server}/api/v1/projects/${project}`, { headers })).status).toBe(403);
  };

  /** All entries of the audit, read at the process `there`. */
  const entriesThere = async (): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    const answer = await fetch(`${there}/api/v1/audit`, { headers: { authorization } });
    return ((await answer.json()) as { readonly entries: readonly Readonly<Record<string, unknown>>[] }).entries;
  };

  beforeAll(async () => {
    const command = ['user', 'add', 'alice', '--roles', 'administrator', '--data', join(root, 'none')];
    const added = await flightlog(command, { input: 'password-of-alice\n', env: environment }).ended;
    expect(added).toMatchObject({ code: 0, stderr: '' });
    processes = await startTwoProcesses({ env: environment });
    [here, there] = processes.members.map((each) => each.server().ready.http) as [string, string];
    authorization = `Bearer ${await tokenOf('auditor', there)}`;
  }, 120_000);
  afterAll(async () => {
    await processes.close();
    await dropDatabase(location);
    rmSync(root, { recursive: true });
  });

  it('have one audit: the calls that each refuses, and the changes of the command line', async () => {
    await makeRefusedCall(here, 'refused-here');
    await makeRefusedCall(there, 'refused-there');
    const found = await until(entriesThere, (entries) => JSON.stringify(entries).includes('refused-here'));
    expect(found).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'flightlog user add', name: 'alice', transport: 'command-line' }),
        expect.objectContaining({ project: 'refused-here', code: 'PERMISSION_DENIED' }),
        expect.objectContaining({ project: 'refused-there', code: 'PERMISSION_DENIED' }),
      ]),
    );
    const ids = found.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  });

  it('show a follower at one process a call that the other process refuses', async () => {
    const tokenFile = join(root, 'token');
    writeFileSync(tokenFile, authorization.replace('Bearer ', ''));
    const flags = ['--server', there, '--token-file', tokenFile, '--since', '1h', '--follow'];
    const { child, said, ended } = flightlog(['audit', ...flags]);
    await said('flightlog user add');
    await makeRefusedCall(here, 'followed-here');
    await said(/PERMISSION_DENIED +AdminService.GetProject .*followed-here/u);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ stderr: '' });
  });
});
