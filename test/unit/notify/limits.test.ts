import { expect, it } from 'vitest';

import { channelLimit } from '../../../services/reactors/notify/limits.js';

const NOW_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;

it('the limit of a channel holds up attempts for no longer than before when the clock is set back', () => {
  const limit = channelLimit({ maxPerMinute: 60, maxConcurrent: 10 });
  const take = (nowMs: number) => limit.take(nowMs).kind;
  const kinds = Array.from({ length: 7 }, () => take(NOW_MS + HOUR_MS));
  expect(kinds.filter((kind) => kind === 'granted')).toHaveLength(6); // a tenth of those of a minute
  expect(limit.take(NOW_MS)).toEqual({ kind: 'later', atMs: NOW_MS + 1_000 });
  expect([NOW_MS + 1_000, NOW_MS + 1_001, NOW_MS + 2_000].map(take)).toEqual(['granted', 'later', 'granted']);
});
