import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { AuthorizationState, StoredObject } from '../../services/kernel/ports/authorization-state.js';

/** An object with a key that no other has, and no end; times (`expiresAt`, `consumedAt`) are in seconds since 1970. */
const object = (fields: Partial<StoredObject> = {}): StoredObject => ({
  kind: 'RefreshToken',
  key: randomUUID(),
  content: '{"a":1}',
  grant: undefined,
  alias: undefined,
  expiresAt: undefined,
  ...fields,
});

/** The contract of a state of the authorization server; `open` opens the same state each time. */
export const authorizationStateContract = (name: string, open: () => Promise<AuthorizationState>): void => {
  describe(`the state of the authorization server in ${name}`, () => {
    /** Two views of the same state, as two processes open it. */
    let one: AuthorizationState;
    let other: AuthorizationState;

    beforeAll(async () => {
      [one, other] = await Promise.all([open(), open()]);
    });
    afterAll(() => Promise.all([one.close(), other.close()]));

    it('has objects for every process, by kind and key, until they are removed', async () => {
      const stored = object();
      await one.put(stored);
      expect(await other.find(stored.kind, stored.key)).toEqual({ content: stored.content, consumedAt: undefined });
      expect(await other.find('Session', stored.key)).toBeUndefined();
      await other.remove(stored.kind, stored.key);
      expect(await one.find(stored.kind, stored.key)).toBeUndefined();
    });

    it('finds an object by its alias, among those of its kind', async () => {
      const stored = object({ alias: randomUUID() });
      await one.put(stored);
      expect(await other.findByAlias(stored.kind, stored.alias!)).toMatchObject({ content: stored.content });
      expect(await other.findByAlias('DeviceCode', stored.alias!)).toBeUndefined();
      await one.put({ ...stored, alias: undefined });
      expect(await other.findByAlias(stored.kind, stored.alias!)).toBeUndefined();
    });

    it('lets one of all callers consume an object', async () => {
      const stored = object();
      await one.put(stored);
      const callers = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? one : other));
      const results = await Promise.all(callers.map((state) => state.consume(stored.kind, stored.key, 1_700_000_000)));
      expect(results.filter((isFirst) => isFirst)).toHaveLength(1);
      expect(await other.consume(stored.kind, randomUUID(), 1)).toBe(false);
    });

    it('keeps an object consumed when the object is stored again', async () => {
      const stored = object();
      await one.put(stored);
      await one.consume(stored.kind, stored.key, 1_700_000_000);
      await other.put({ ...stored, content: '{"a":2}' });
      expect(await one.find(stored.kind, stored.key)).toEqual({ content: '{"a":2}', consumedAt: 1_700_000_000 });
      expect(await other.consume(stored.kind, stored.key, 1_700_000_001)).toBe(false);
    });

    it('stores a new object from two processes at once', async () => {
      const stored = object();
      await Promise.all([one, other, one, other].map((state) => state.put(stored)));
      expect(await one.find(stored.kind, stored.key)).toEqual({ content: stored.content, consumedAt: undefined });
    });

    it('removes the objects of a grant, of the kinds that are named', async () => {
      const grant = randomUUID();
      const [token, code, session] = [
        object({ grant }),
        object({ grant, kind: 'AuthorizationCode' }),
        object({ grant, kind: 'Session' }),
      ];
      const foreign = object({ grant: randomUUID() });
      for (const each of [token, code, session, foreign]) await one.put(each);
      await other.removeGrant(['RefreshToken', 'AuthorizationCode'], grant);
      const found = await Promise.all([token, code, session, foreign].map(({ kind, key }) => one.find(kind, key)));
      expect(found.map((each) => each !== undefined)).toEqual([false, false, true, true]);
    });

    it('removes the objects of an account, and no other', async () => {
      const account = `upstream:${randomUUID()}.("ada"\\`;
      const ofAccount = (accountId: string) => ({ content: JSON.stringify({ iat: 1, accountId }) });
      const [token, session] = [object(ofAccount(account)), object({ ...ofAccount(account), kind: 'Session' })];
      const signingIn = object({ content: JSON.stringify({ result: { login: { accountId: account } } }) });
      const [longer, quoting] = [
        object(ofAccount(`${account}a`)),
        object(ofAccount(JSON.stringify(ofAccount(account)))),
      ];
      const all = [token, session, signingIn, longer, quoting];
      for (const each of all) await one.put(each);
      await other.removeAccount(account);
      const found = await Promise.all(all.map(({ kind, key }) => one.find(kind, key)));
      expect(found.map((each) => each !== undefined)).toEqual([false, false, false, true, true]);
    });

    it('removes what has expired, and nothing that has no end', async () => {
      const [old, young, endless] = [object({ expiresAt: 1_000 }), object({ expiresAt: 2_000 }), object()];
      for (const each of [old, young, endless]) await one.put(each);
      await other.removeExpired(1_500);
      const found = await Promise.all([old, young, endless].map(({ kind, key }) => one.find(kind, key)));
      expect(found.map((each) => each !== undefined)).toEqual([false, true, true]);
    });

    it('has keys for every process, the newest first', async () => {
      const [older, newer] = [
        { id: randomUUID(), jwk: '{"n":1}', createdAt: 1_700_000_000_000 },
        { id: randomUUID(), jwk: '{"n":2}', createdAt: 1_700_000_000_001 },
      ];
      await one.addKey(older);
      await other.addKey(newer);
      expect(await one.keys()).toEqual([newer, older]);
      await other.removeKeys([older.id, randomUUID()]);
      expect(await one.keys()).toEqual([newer]);
      await one.removeKeys([newer.id]);
    });
  });
};
