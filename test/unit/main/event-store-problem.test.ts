import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { LogEndsEarly } from '../../../services/kernel/log-readers/log-end.js';
import { failureLog } from '../../../services/main/log/event-store-problem.js';

/** The line that is logged of an error of an event store. */
const logged = (error: unknown): Record<string, unknown> => {
  let line = '{}';
  failureLog(pino({}, { write: (text) => (line = text) }))(error);
  return JSON.parse(line) as Record<string, unknown>;
};

describe('the warning about an event store', () => {
  it('has advice on its address while it cannot be reached', () => {
    expect(logged(new Error('connect ECONNREFUSED'))).toMatchObject({
      why: 'connect ECONNREFUSED',
      hint: expect.stringContaining('tls=false') as string,
      msg: 'the event store (event_store) cannot be reached; retrying',
    });
  });

  it('says of a log that ends early where it ends, and nothing of the address', () => {
    const { hint, msg } = logged(new LogEndsEarly(5n, 9n));
    expect(msg).toMatch(/^the log ends at position 5, before position 9/u);
    expect(hint).toBeUndefined();
  });
});
