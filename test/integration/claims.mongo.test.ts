import { afterAll, describe, expect, it } from 'vitest';

import { mongoClaims } from '../../projections/store/mongo/mongo-claims.js';
import { claimsContract } from '../contract/claims.contract.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/mongo-server.js';

describe.skipIf(mongoUrl === undefined)('with a MongoDB', () => {
  const location = newMongoLocation();
  afterAll(() => dropDatabase(location));

  claimsContract('a MongoDB', () => mongoClaims(location));

  it('keeps where somebody has come to in a log, and nothing of another log', async () => {
    const claims = await mongoClaims(location);
    const checkpoint = claims.checkpoint('release-slots', 'log');
    expect(await checkpoint.read()).toBe(0n);
    await checkpoint.write(2n ** 60n);
    expect(await claims.checkpoint('release-slots', 'log').read()).toBe(2n ** 60n);
    expect(await claims.checkpoint('release-slots', 'other').read()).toBe(0n);
    expect(await claims.checkpoint('others', 'log').read()).toBe(0n);
    await claims.close();
  });
});
