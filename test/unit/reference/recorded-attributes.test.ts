import { expect, it } from 'vitest';

import type { Acknowledged } from '../../../services/kernel/ports/sessions.js';
import type { Call } from '../../../services/kernel/rpc.js';
import type { LogFollower } from '../../../services/reference/live-folds.js';
import { attributesFold, recordedAttributes } from '../../../services/reference/recorded-attributes.js';

it('attributes cannot be listed before all that were recorded at the start have been read', async () => {
  let isRead = false;
  const following = {
    position: () => 0n,
    reached: () => Promise.resolve(isRead),
    hasReached: () => isRead,
  } as unknown as LogFollower;
  const acknowledged = { ofPrefix: () => undefined } as unknown as Acknowledged;
  const readStream = () => Promise.reject(new Error('not read by a list'));
  const recorded = recordedAttributes({ fold: attributesFold(), following, acknowledged, readStream });
  const call: Call = { principal: 'root', requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };
  await expect(recorded.ofAll(call)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  isRead = true;
  expect(await recorded.ofAll(call)).toEqual([]);
});
