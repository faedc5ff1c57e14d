import { afterAll, describe, expect, it } from 'vitest';

import { mongoLeases } from '../../projections/store/mongo/mongo-leases.js';
import { leasesContract } from '../contract/leases.contract.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';

describe.skipIf(mongoUrl === undefined)('the lease store of a MongoDB', () => {
  const location = newMongoLocation();
  afterAll(() => dropDatabase(location));

  // With these leases, one process at a time runs a reactor; each reactor has a checkpoint for each log.
  leasesContract('a MongoDB', () => mongoLeases(location));

  it('keeps a checkpoint for each reactor and log', async () => {
    const leases = await mongoLeases(location);
    const checkpoint = leases.checkpoint('release-slots', 'log');
    expect(await checkpoint.read()).toBe(0n);
    await checkpoint.write(2n ** 60n);
    expect(await leases.checkpoint('release-slots', 'log').read()).toBe(2n ** 60n);
    expect(await leases.checkpoint('release-slots', 'other').read()).toBe(0n);
    expect(await leases.checkpoint('others', 'log').read()).toBe(0n);
    await leases.close();
  });
});
