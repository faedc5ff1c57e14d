import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LEASE_MS, type Leases } from '../../services/kernel/ports/leases.js';
import { until } from '../support/until.js';

/** The contract of a store of leases; `open` opens the same store each time. */
export const leasesContract = (name: string, open: () => Promise<Leases>): void => {
  describe(`leases in ${name}`, () => {
    /** Two views of the same store, as two processes open it. */
    let one: Leases;
    let other: Leases;

    beforeAll(async () => {
      one = await open();
      other = await open();
    });
    afterAll(() => Promise.all([one.close(), other.close()]));

    it('are taken by the first worker that asks, and renewed by that worker alone', async () => {
      expect([...(await one.take(['first 1', 'first 2'], 'a'))].sort()).toEqual(['first 1', 'first 2']);
      expect(await other.take(['first 2', 'first 3'], 'b')).toEqual(['first 3']);
      expect(await one.take(['first 1', 'first 3'], 'a')).toEqual(['first 1']);
      expect(await one.take([], 'a')).toEqual([]);
    });

    it('are listed to every worker, by a prefix of their names', async () => {
      await one.take(['known a/b.c:1', 'known 2', 'known%'], 'a');
      expect(await other.held('known a/')).toEqual(new Map([['known a/b.c:1', 'a']]));
      expect((await other.held('known')).size).toBe(3);
      expect(await other.held('known.')).toEqual(new Map());
    });

    it('are described to every worker by the one that holds them, until they are released', async () => {
      await one.take(['told 1', 'told 2'], 'a');
      await one.describe('told 1', 'a', 'first');
      await one.describe('told 1', 'a', 'second');
      await other.describe('told 2', 'b', 'not its own');
      expect(await other.descriptions('told ')).toEqual(new Map([['told 1', 'second']]));
      await one.take(['told 1'], 'a');
      expect(await other.descriptions('told ')).toEqual(new Map([['told 1', 'second']]));
      await one.release(['told 1'], 'a');
      await other.take(['told 1'], 'b');
      expect(await one.descriptions('told ')).toEqual(new Map());
      await other.release(['told 1'], 'b');
      await one.take(['told 1'], 'a');
      expect(await one.descriptions('told ')).toEqual(new Map());
    });

    it('are released by the worker that has them', async () => {
      await one.take(['back 1', 'back 2'], 'a');
      await other.release(['back 1'], 'b');
      expect(await other.take(['back 1'], 'b')).toEqual([]);
      await one.release(['back 1', 'back 3'], 'a');
      expect(await other.take(['back 1', 'back 2'], 'b')).toEqual(['back 1']);
    });

    it('go each to one of many workers that ask at once', async () => {
      const leases = await Promise.all(Array.from({ length: 6 }, open));
      const names = Array.from({ length: 8 }, (_, at) => `race ${at}`);
      const taken = await Promise.all(leases.map((each, at) => each.take(names, `worker ${at}`)));
      expect(taken.flat().sort()).toEqual(names);
      await Promise.all(leases.map((each) => each.close()));
    });

    it('expire when they are not renewed for LEASE_MS, and not before', async () => {
      const takenAt = performance.now();
      await one.take(['out 1', 'out 2'], 'a');
      const got = await until(
        async () => {
          await one.take(['out 2'], 'a');
          return other.take(['out 1', 'out 2'], 'b');
        },
        (names) => names.length > 0,
      );
      expect(got).toEqual(['out 1']);
      // A margin, because the clock of the store counts in milliseconds.
      expect(performance.now() - takenAt).toBeGreaterThan(LEASE_MS - 50);
      expect((await one.held('out 1')).get('out 1')).toBe('b');
    });
  });
};
