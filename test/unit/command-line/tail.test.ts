import { describe, expect, it } from 'vitest';

import { lineOf } from '../../../services/cli/client/tail.js';

describe('the line of a tailed event', () => {
  const event = { position: 7, stream: 'bank-a', type: 'Paid', data: 'AQID' };

  it('has blanks for a missing time, and - for a missing actor', () => {
    expect(lineOf(JSON.stringify(event))).toMatch(/^7 +Paid +- +bank-a$/u);
  });

  it('has the time, actor, node and attempt of an event that has them', () => {
    const recordedAt = '2026-03-02T09:58:16.000Z';
    const line = lineOf(JSON.stringify({ ...event, recordedAt, actor: 'ann', data: { node: 'n0', attempt: 1 } }));
    expect(line).toMatch(/^7 +2026-03-02T09:58:16\.000Z +Paid +ann +bank-a n0 #1$/u);
  });
});
