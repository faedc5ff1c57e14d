import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { MAX_ENTRIES, MAX_REFUSALS } from '../../../services/audit/batch.js';
import { auditTrail } from '../../../services/audit/trail.js';
import { OutcomeUnknown, StoreUnavailable, WriteRefused } from '../../../services/kernel/fault.js';
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

/**
 * An audit trail whose clock is set by hand, and the counts that it has reported: entries `dropped`, and `errors` of
 * its store. `list` writes the recorded entries before it reads.
 */
const opened = (store: AuditStore = sqliteAuditStore(directory)) => {
  const state = { now: 1_000, dropped: 0, errors: 0 };
  const trail = auditTrail({
    store,
    retentionMs: DAY_MS,
    now: () => state.now,
    newKey: randomUUID,
    onDropped: (count) => (state.dropped += count),
    onError: () => (state.errors += 1),
  });
  return { state, trail, list: (query: Partial<AuditQuery> = {}) => trail.list({ ...ALL, ...query }) };
};

describe('the audit trail', () => {
  it('lists every field of a recorded entry, at once and after it was opened again', async () => {
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

  it('is a file that its owner alone can read and write', async () => {
    const { trail } = opened();
    await trail.list(ALL);
    expect(statSync(join(directory, 'audit.db')).mode & 0o777).toBe(0o600);
    await trail.close();
    expect(readFileSync(join(directory, 'audit.db')).length).toBeGreaterThan(0);
  });

  it('counts equal refusals in one entry, and has an entry for each change', async () => {
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

  it('counts refusals beyond the limit of a batch as dropped, but keeps changes', async () => {
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

  it('counts changes beyond the limit of a batch as dropped', async () => {
    const { trail, list } = opened();
    for (let each = 0; each < MAX_ENTRIES + 3; each += 1) trail.record(written);
    expect((await list()).at(-1)).toMatchObject({ kind: 'dropped', count: 3 });
    await trail.close();
  });

  /** A store that fails while `isDown`. */
  const failing = () => {
    const real = sqliteAuditStore(directory);
    const state = { isDown: true };
    const fail = (): Promise<never> => Promise.reject(new StoreUnavailable('disk full'));
    const store: AuditStore = { ...real, write: (entries) => (state.isDown ? fail() : real.write(entries)) };
    return { state, store };
  };

  it('keeps entries that could not be stored, until its store answers again', async () => {
    const { state: disk, store } = failing();
    const { trail, list, state } = opened(store);
    trail.record(written);
    for (const at of [2_000, 3_000]) trail.record({ ...refused, atMs: at, lastAtMs: at });
    expect(await list()).toEqual([]);
    trail.record({ ...refused, atMs: 4_000, lastAtMs: 4_000 });
    expect(await list()).toEqual([]);
    expect(state).toMatchObject({ dropped: 0, errors: 2 });
    disk.isDown = false;
    expect(await list()).toMatchObject([{ code: 'OK' }, { count: 3, atMs: 2_000, lastAtMs: 4_000 }]);
    expect(state.dropped).toBe(0);
    await trail.close();
  });

  it('writes a batch of unknown outcome again under its key, and then the entries recorded meanwhile', async () => {
    const real = sqliteAuditStore(directory);
    const keys = new Set<string | undefined>();
    const faults = [new OutcomeUnknown('no answer'), new StoreUnavailable('away')];
    /** A store that stores the batch of each key once, and answers its first two writes with these faults. */
    const store: AuditStore = {
      ...real,
      write: async (entries, key) => {
        if (!keys.has(key)) await real.write(entries);
        keys.add(key);
        const fault = faults.shift();
        if (fault) throw fault;
      },
    };
    const { trail, list, state } = opened(store);
    trail.record(refused);
    expect(await list()).toHaveLength(1);
    trail.record(refused);
    expect(await list()).toHaveLength(1);
    expect(await list()).toMatchObject([{ count: 1 }, { count: 1 }]);
    expect(state).toMatchObject({ dropped: 0, errors: 2 });
    expect(keys.size).toBe(2);
    await trail.close();
  });

  /**
   * A store whose first writes fail with `faults`; later it refuses each batch with an entry that `isRefused` accepts.
   */
  const refusingWhere = (isRefused: (entry: AuditEntry) => boolean, faults: Error[] = []): AuditStore => {
    const real = sqliteAuditStore(directory);
    const refusal = new WriteRefused('no such entries here');
    return {
      ...real,
      write: (entries) => {
        const fault = faults.shift() ?? (entries.some(isRefused) ? refusal : undefined);
        return fault ? Promise.reject(fault) : real.write(entries);
      },
    };
  };
  const refusing = (prefix: string): AuditStore => refusingWhere((entry) => entry.name.startsWith(prefix));

  it('drops and counts the entries that its store refuses, and stores the others', async () => {
    const { trail, list, state } = opened(refusing('bad'));
    const names = ['a', 'bad 1', 'b', 'c', 'd', 'bad 2', 'e'];
    names.forEach((name, atMs) => trail.record({ ...written, atMs, name }));
    const found = await list();
    expect(found.map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(state).toMatchObject({ dropped: 2, errors: 1 });
    expect((await list()).at(-1)).toMatchObject({ kind: 'dropped', count: 2 });
    await trail.close();
  });

  it('keeps refused entries while its store accepts no other entry, and drops some of them once it accepts one', async () => {
    const { trail, list, state } = opened(refusing('bad'));
    for (let each = 0; each < 100; each += 1) trail.record({ ...written, name: `bad ${each}` });
    expect(await list()).toEqual([]);
    expect(state).toMatchObject({ dropped: 0 });
    trail.record({ ...written, atMs: 2_000, name: 'good' });
    expect(await list()).toMatchObject([{ name: 'good' }]);
    expect(state.dropped).toBeGreaterThan(0);
    await trail.close();
  });

  it('stores other entries when its store refuses the count of dropped ones, and never writes that count again', async () => {
    const { trail, list, state } = opened(refusingWhere((entry) => entry.kind === 'dropped' || entry.name === 'bad'));
    for (const name of ['bad', 'good']) trail.record({ ...written, name });
    expect(await list()).toMatchObject([{ name: 'good' }]);
    trail.record({ ...written, name: 'alone' });
    expect(await list()).toMatchObject([{ name: 'good' }, { name: 'alone' }]);
    trail.record({ ...written, name: 'last' });
    expect(await list()).toHaveLength(3);
    expect(state).toMatchObject({ dropped: 1, errors: 2 });
    await trail.close();
  });

  it('does not write refused entries again each second, but together with the next recorded entry', async () => {
    vi.useFakeTimers();
    try {
      const { trail, list, state } = opened(refusing('bad'));
      trail.record({ ...written, name: 'bad' });
      await vi.advanceTimersByTimeAsync(10_000);
      expect(state).toMatchObject({ dropped: 0, errors: 1 });
      trail.record(written);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await list()).toMatchObject([{ name: written.name }, { kind: 'dropped', count: 1 }]);
      expect(state).toMatchObject({ dropped: 1, errors: 2 });
      await trail.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('writes a refused batch again without a further entry when its store became unavailable after the refusal', async () => {
    vi.useFakeTimers();
    try {
      const faults = [new WriteRefused('too many'), new StoreUnavailable('away')];
      const store = refusingWhere(() => false, faults);
      const write = vi.spyOn(store, 'write');
      const { trail, list, state } = opened(store);
      for (const name of ['one', 'two']) trail.record({ ...written, name });
      await vi.advanceTimersByTimeAsync(10_000);
      expect(write).toHaveBeenCalledTimes(3);
      expect(await list()).toHaveLength(2);
      expect(state).toMatchObject({ dropped: 0, errors: 2 });
      await trail.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('stores the other entries of a batch whose outcome was unknown and that its store then refuses', async () => {
    const store = refusingWhere(({ name }) => name === 'bad', [new OutcomeUnknown('no answer')]);
    const { trail, list, state } = opened(store);
    for (const name of ['a', 'bad', 'b']) trail.record({ ...written, name });
    expect(await list()).toEqual([]);
    trail.record({ ...written, name: 'later' });
    const found = await list();
    expect(found.map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'later']);
    expect(state).toMatchObject({ dropped: 1, errors: 2 });
    expect((await list()).at(-1)).toMatchObject({ kind: 'dropped', count: 1 });
    await trail.close();
  });

  it('keeps the entries of a batch that is refused while the outcome of the next one is unknown', async () => {
    const unknown = new OutcomeUnknown('no answer');
    const { trail, list, state } = opened(refusingWhere(() => false, [unknown, new WriteRefused('not now'), unknown]));
    trail.record({ ...written, name: 'first' });
    expect(await list()).toEqual([]);
    trail.record({ ...written, atMs: 2_000, name: 'second' });
    expect(await list()).toEqual([]);
    expect(await list()).toMatchObject([{ name: 'first' }, { name: 'second' }]);
    expect(state).toMatchObject({ dropped: 0, errors: 2 });
    await trail.close();
  });

  it('counts entries beyond the limit of a batch as dropped while its store does not answer', async () => {
    const { state: disk, store } = failing();
    const { trail, list, state } = opened(store);
    for (let each = 0; each < MAX_ENTRIES; each += 1) trail.record(written);
    expect(await list()).toEqual([]);
    for (let each = 0; each < 7; each += 1) trail.record(written);
    expect(await list()).toEqual([]);
    disk.isDown = false;
    const found = await list();
    expect(found).toHaveLength(MAX_ENTRIES + 1);
    expect(found.at(-1)).toMatchObject({ kind: 'dropped', count: 7 });
    expect(state.dropped).toBe(7);
    await trail.close();
  });

  it('removes entries older than its retention when it is opened', async () => {
    const first = opened();
    for (const atMs of [1_000, DAY_MS]) first.trail.record({ ...written, atMs, lastAtMs: atMs });
    await first.trail.close();
    const store = sqliteAuditStore(directory);
    const trail = auditTrail({
      ...{ store, retentionMs: DAY_MS, now: () => DAY_MS + 2_000 },
      newKey: randomUUID,
      ...{ onDropped: () => undefined, onError: () => undefined },
    });
    expect(await trail.list(ALL)).toMatchObject([{ atMs: DAY_MS }]);
    await trail.close();
  });
});
