import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { MAX_ENTRIES, MAX_REFUSALS } from '../../../services/audit/batch.js';
import { auditTrail } from '../../../services/audit/trail.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import type { AuditEntry, AuditQuery, AuditStore } from '../../../services/kernel/ports/audit-trail.js';
import { sqliteAuditStore } from '../../../services/store/audit/sqlite-audit-store.js';

const DAY_MS = 86_400_000;

const written: AuditEntry = {
  ...{ kind: 'call', atMs: 1_000, lastAtMs: 1_000, count: 1, code: 'OK', reason: '' },
  ...{ principal: 'ada', issuer: 'https://issuer.test', clientId: 'cli', transport: 'grpc', address: '10.0.0.1' },
  ...{ action: 'AdminService.CreateTask', project: 'atlas', domain: 'staging', name: 'greet' },
  ...{ requestId: 'r-1', position: 42n },
};
const refused: AuditEntry = {
  ...written,
  ...{ code: 'PERMISSION_DENIED', reason: 'missing permission register', position: undefined },
};
const ALL: AuditQuery = { project: '', domain: '', actor: '', sinceMs: 0, after: 0n, limit: 100_000 };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-audit-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** An audit trail whose clock is set by hand, and what it has reported. */
const opened = (store: AuditStore = sqliteAuditStore(directory)) => {
  const state = { now: 1_000, dropped: 0, errors: 0 };
  const trail = auditTrail({
    store,
    retentionMs: DAY_MS,
    now: () => state.now,
    onDropped: (count) => (state.dropped += count),
    onError: () => (state.errors += 1),
  });
  return { state, trail, list: (query: Partial<AuditQuery> = {}) => trail.list({ ...ALL, ...query }) };
};

describe('the audit', () => {
  it('has every field of what was recorded, at once and after it was opened again', async () => {
    const first = opened();
    first.trail.record(written);
    const expected = [{ ...written, id: 1n }];
    expect(await first.list()).toEqual(expected);
    await first.trail.close();
    const second = opened();
    expect(await second.list()).toEqual(expected);
    await second.trail.close();
  });

  it('keeps what was recorded just before it is closed', async () => {
    const first = opened();
    first.trail.record(written);
    await first.trail.close();
    const second = opened();
    expect(await second.list()).toHaveLength(1);
    await second.trail.close();
  });

  it('is readable by the owner of its file alone', async () => {
    const { trail } = opened();
    await trail.list(ALL);
    expect(statSync(join(directory, 'audit.db')).mode & 0o777).toBe(0o600);
    await trail.close();
    expect(readFileSync(join(directory, 'audit.db')).length).toBeGreaterThan(0);
  });

  it('lists by project, domain, actor, time and page', async () => {
    const { trail, list } = opened();
    const others = [
      { project: 'other' },
      { domain: 'production' },
      { principal: 'bob' },
      { atMs: 2_000, lastAtMs: 2_000 },
    ];
    for (const difference of [{}, ...others]) trail.record({ ...written, ...difference });
    const ids = async (query: Partial<AuditQuery>) => (await list(query)).map(({ id }) => Number(id));
    expect(await ids({ project: 'atlas' })).toEqual([1, 3, 4, 5]);
    expect(await ids({ domain: 'staging' })).toEqual([1, 2, 4, 5]);
    expect(await ids({ actor: 'bob' })).toEqual([4]);
    expect(await ids({ sinceMs: 2_000 })).toEqual([5]);
    expect(await ids({ limit: 2 })).toEqual([1, 2]);
    expect(await ids({ after: 2n, limit: 2 })).toEqual([3, 4]);
    await trail.close();
  });

  it('counts refusals that are alike, and keeps changes apart', async () => {
    const { trail, list } = opened();
    for (const at of [1_000, 2_000, 3_000]) {
      trail.record({ ...refused, atMs: at, lastAtMs: at, requestId: `r-${at}` });
      trail.record({ ...written, atMs: at, lastAtMs: at });
    }
    trail.record({ ...refused, name: 'another' });
    const found = await list();
    expect(found.filter(({ code }) => code === 'OK')).toHaveLength(3);
    expect(found.filter(({ code }) => code !== 'OK')).toMatchObject([
      { name: 'greet', count: 3, atMs: 1_000, lastAtMs: 3_000, requestId: 'r-1000' },
      { name: 'another', count: 1 },
    ]);
    await trail.close();
  });

  it('says how many refusals found no place, and keeps changes beside them', async () => {
    const { trail, list, state } = opened();
    for (let each = 0; each < MAX_REFUSALS + 7; each += 1) trail.record({ ...refused, name: `n${each}` });
    trail.record(written);
    const found = await list();
    expect(found).toHaveLength(MAX_REFUSALS + 2);
    expect(found.filter(({ code }) => code === 'OK')).toHaveLength(1);
    expect(found.at(-1)).toMatchObject({ kind: 'dropped', count: 7 });
    expect(state.dropped).toBe(7);
    await trail.close();
  });

  it('says how many changes found no place', async () => {
    const { trail, list } = opened();
    for (let each = 0; each < MAX_ENTRIES + 3; each += 1) trail.record(written);
    expect((await list()).at(-1)).toMatchObject({ kind: 'dropped', count: 3 });
    await trail.close();
  });

  it('says how many could not be stored, once its store answers again', async () => {
    const real = sqliteAuditStore(directory);
    let isDown = true;
    const store: AuditStore = {
      ...real,
      write: (entries) => (isDown ? Promise.reject(new StoreUnavailable('disk full')) : real.write(entries)),
    };
    const { trail, list, state } = opened(store);
    for (let each = 0; each < 5; each += 1) trail.record(written);
    trail.record(refused);
    trail.record(refused);
    expect(await list()).toEqual([]);
    expect(state).toMatchObject({ dropped: 7, errors: 1 });
    isDown = false;
    trail.record(written);
    expect(await list()).toMatchObject([{ kind: 'call' }, { kind: 'dropped', count: 7 }]);
    expect(state.dropped).toBe(7);
    await trail.close();
  });

  it('removes what is older than its retention when it is opened', async () => {
    const first = opened();
    for (const atMs of [1_000, DAY_MS]) first.trail.record({ ...written, atMs, lastAtMs: atMs });
    await first.trail.close();
    const store = sqliteAuditStore(directory);
    const trail = auditTrail({
      ...{ store, retentionMs: DAY_MS, now: () => DAY_MS + 2_000 },
      ...{ onDropped: () => undefined, onError: () => undefined },
    });
    expect(await trail.list(ALL)).toMatchObject([{ atMs: DAY_MS }]);
    await trail.close();
  });

  it('of two processes is one', async () => {
    const [here, there] = [opened(), opened()];
    here.trail.record(written);
    there.trail.record({ ...written, principal: 'bob' });
    await here.list();
    await there.list();
    expect((await here.list()).map(({ principal }) => principal)).toEqual(['ada', 'bob']);
    await here.trail.close();
    await there.trail.close();
  });
});
