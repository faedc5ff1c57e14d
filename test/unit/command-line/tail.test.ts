import { describe, expect, it } from 'vitest';

import type { TailedEvent, TailInit } from '../../../services/cli/client/connection/connection.js';
import { Refused } from '../../../services/cli/client/connection/refusal.js';
import { eventsOf, lineOf } from '../../../services/cli/client/tail.js';

/** The gRPC status code. */
const RESOURCE_EXHAUSTED = 8;

describe('a tail that the server ends because it was read too slowly', () => {
  const askedAfter: (string | undefined)[] = [];
  const tailOf = (...streams: (TailedEvent | Error)[][]) =>
    eventsOf(
      {
        async *tail({ lastEventId }: TailInit) {
          await Promise.resolve();
          askedAfter.push(lastEventId);
          for (const each of streams.shift() ?? []) {
            if (each instanceof Error) throw each;
            yield each;
          }
        },
      },
      {},
    );

  it('is opened again after its last position, and is an error before there is one', async () => {
    const tooSlow = new Refused(RESOURCE_EXHAUSTED, 'the client reads too slowly');
    const events = tailOf([{ position: '7', text: 'a' }, tooSlow], [tooSlow], [{ position: '8', text: 'b' }]);
    expect([await events.next(), await events.next()]).toMatchObject([
      { value: { position: '7' } },
      { value: { position: '8' } },
    ]);
    expect(askedAfter).toEqual(['', '7', '7']);
    await expect(tailOf([tooSlow]).next()).rejects.toThrow(tooSlow);
  });
});

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
