import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { AuditEntry, AuditQuery, AuditStore, StoredAuditEntry } from '../../services/kernel/ports/audit-trail.js';

/** An entry with every field. */
export const AUDIT_ENTRY: AuditEntry = {
  ...{ kind: 'call', atMs: 1_700_000_000_000, lastAtMs: 1_700_000_000_500, count: 3, code: 'OK', reason: 'because' },
  ...{ principal: 'ada', issuer: 'https://issuer.test', clientId: 'cli', transport: 'grpc', address: '10.0.0.1' },
  ...{ action: 'AdminService.CreateTask', project: 'atlas', domain: 'staging', name: 'greet' },
  ...{ requestId: 'r-1', position: 2n ** 60n + 1n },
};
/** A query that every entry fits. */
const ALL: AuditQuery = { project: '', domain: '', actor: '', sinceMs: 0, after: 0n, limit: 1_000 };

/** Number of writes, of two entries each, that each of two writers makes. */
const BATCHES = 10;

const namesOf = (entries: readonly AuditEntry[]): readonly string[] => entries.map(({ name }) => name);

/** The contract of a store of audit entries; `open` opens the same entries each time. */
export const auditStoreContract = (name: string, open: () => Promise<AuditStore>): void => {
  describe(`the audit entries in ${name}`, () => {
    /** Two stores of the same entries, as two processes open them. */
    let one: AuditStore;
    let other: AuditStore;

    beforeAll(async () => {
      [one, other] = await Promise.all([open(), open()]);
    });
    afterAll(() => Promise.all([one.close(), other.close()]));

    /** The id of the last entry; entries of a test are those after it. */
    const lastId = async (): Promise<bigint> => (await one.list(ALL)).at(-1)?.id ?? 0n;

    it('are read by every process with every field, and with ascending ids', async () => {
      const after = await lastId();
      const refused: AuditEntry = { ...AUDIT_ENTRY, kind: 'sign-in', code: 'UNAUTHENTICATED', position: undefined };
      await one.write([AUDIT_ENTRY, refused]);
      const found = await other.list({ ...ALL, after });
      expect(found.map(({ id: _, ...entry }) => entry)).toEqual([AUDIT_ENTRY, refused]);
      expect(found[0]!.id).toBeGreaterThan(after);
      expect(found[1]!.id).toBeGreaterThan(found[0]!.id);
    });

    it('are listed by project, domain, actor, time and page', async () => {
      const after = await lastId();
      const differences = [
        { name: 'first' },
        { name: 'project', project: 'other' },
        { name: 'domain', domain: 'production' },
        { name: 'actor', principal: 'bob' },
        { name: 'late', lastAtMs: AUDIT_ENTRY.lastAtMs + 1 },
      ];
      await one.write(differences.map((difference) => ({ ...AUDIT_ENTRY, ...difference })));
      const listed = async (query: Partial<AuditQuery>): Promise<readonly string[]> =>
        namesOf(await other.list({ ...ALL, after, ...query }));
      expect(await listed({ project: 'atlas' })).toEqual(['first', 'domain', 'actor', 'late']);
      expect(await listed({ domain: 'staging' })).toEqual(['first', 'project', 'actor', 'late']);
      expect(await listed({ actor: 'bob' })).toEqual(['actor']);
      expect(await listed({ sinceMs: AUDIT_ENTRY.lastAtMs + 1 })).toEqual(['late']);
      expect(await listed({ limit: 2 })).toEqual(['first', 'project']);
      const [, second] = await other.list({ ...ALL, after, limit: 2 });
      expect(await listed({ after: second!.id, limit: 2 })).toEqual(['domain', 'actor']);
    });

    it('are listed since a time, by their ids, though they are not in the order of their times', async () => {
      const at = (lastAtMs: number): AuditEntry => ({ ...AUDIT_ENTRY, lastAtMs, name: `at ${lastAtMs}` });
      const [first, second, third] = [1_750_000_000_001, 1_750_000_000_002, 1_750_000_000_003] as const;
      await one.write([third, first, second].map(at));
      const since = async (sinceMs: number): Promise<readonly string[]> =>
        namesOf(await other.list({ ...ALL, sinceMs }));
      expect(await since(second)).toEqual([`at ${third}`, `at ${second}`]);
      expect(await since(third + 1)).toEqual([]);
    });

    it('reach a reader that resumes after the last id, each once, while two processes write', async () => {
      const before = await lastId();
      const names = (writer: string) => Array.from({ length: BATCHES }, (_, batch) => `${writer} ${batch}`);
      const write = async (store: AuditStore, writer: string): Promise<void> => {
        for (const each of names(writer))
          await store.write([
            { ...AUDIT_ENTRY, name: each },
            { ...AUDIT_ENTRY, name: `${each}, second` },
          ]);
      };
      const state = { isWriting: true };
      const writing = Promise.all([write(one, 'one'), write(other, 'other')]).finally(() => (state.isWriting = false));
      const read: StoredAuditEntry[] = [];
      for (let wasWriting = true; wasWriting;) {
        wasWriting = state.isWriting;
        read.push(...(await one.list({ ...ALL, after: read.at(-1)?.id ?? before })));
      }
      await writing;
      const written = [...names('one'), ...names('other')].flatMap((each) => [each, `${each}, second`]);
      expect(namesOf(read).toSorted()).toEqual(written.toSorted());
      const ids = read.map(({ id }) => id);
      expect(ids).toEqual(ids.toSorted((a, b) => Number(a - b)));
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('are removed when their last time is before a given one, and their ids are not given again', async () => {
      await one.write([
        { ...AUDIT_ENTRY, name: 'old', lastAtMs: 1_800_000_000_000 },
        { ...AUDIT_ENTRY, name: 'kept', lastAtMs: 1_800_000_000_001 },
      ]);
      const last = await lastId();
      await other.removeBefore(1_800_000_000_001);
      expect(namesOf(await one.list(ALL))).toEqual(['kept']);
      await other.removeBefore(1_800_000_000_002);
      await one.write([{ ...AUDIT_ENTRY, name: 'new' }]);
      expect(await other.list(ALL)).toMatchObject([{ name: 'new' }]);
      expect(await lastId()).toBeGreaterThan(last);
    });
  });
};
