import { AccessDeniedError, UnavailableError } from '@eventstore/db-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { OutcomeUnknown, StoreUnavailable } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { type Appender, appender } from '../../../services/store/eventstore/appender.js';
import { deniedAppends } from '../../../services/store/eventstore/denied-appends.js';
import { newEvent } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

const broken = (): Error => new UnavailableError({ details: 'read ECONNRESET' } as never);
const denied = (): Error => new AccessDeniedError();

/** An appender whose attempts fail with these errors, one after another. */
const failing = (errors: readonly Error[]): Appender => {
  const remaining = [...errors];
  return appender({
    send: () => Promise.reject(remaining.shift() ?? new Error('no further attempt was expected')),
    close: () => Promise.resolve(),
  });
};

const append = (to: Appender) =>
  to.append({
    stream: streamName('counted', ['a']),
    expected: 'no-stream',
    events: [newEvent('Counted', Buffer.from('a'))],
  });

afterEach(() => void vi.useRealTimers());

describe('an append to an event store that is denied', () => {
  it('has recorded nothing when its first attempt is denied', async () => {
    await expect(append(failing([denied()]))).rejects.toBeInstanceOf(StoreUnavailable);
  });

  it('has an unknown outcome when an earlier attempt may have been recorded', async () => {
    await expect(append(failing([broken(), denied()]))).rejects.toMatchObject({
      code: 'outcome-unknown',
      message: expect.stringMatching(
        /^no answer to an append to counted-a, and it was refused when repeated: the event store denies access/u,
      ) as unknown,
    });
  });

  it('is noted as denied when its outcome is unknown', async () => {
    const appends = deniedAppends(() => Promise.resolve());
    await expect(appends.noted(Promise.reject(new OutcomeUnknown('denied', denied())))).rejects.toThrow('denied');
    expect(appends.reason()).toBe('denied');
    appends.close();
  });
});

describe('appends to an event store that cannot be reached', () => {
  it('wait in any number without a warning of Node.js', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    let attempts = 0;
    const appends = appender({
      send: () => {
        attempts += 1;
        return Promise.reject(broken());
      },
      close: () => Promise.resolve(),
    });
    const outcomes = Array.from({ length: 20 }, (_, at) =>
      appends
        .append({
          stream: streamName('counted', [String(at)]),
          expected: 'any',
          events: [newEvent('Counted', Buffer.of())],
        })
        .catch(() => undefined),
    );
    await until(
      () => Promise.resolve(attempts),
      (count) => count > 20, // each was sent once, and one of them again
    );
    await appends.close();
    await Promise.all(outcomes);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});

describe('an append that fails once', () => {
  it('is sent again, also when the clock of the machine is set forward meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const errors = [broken()];
    const appends = appender({
      send: () => {
        const error = errors.shift();
        vi.setSystemTime(Date.now() + 60_000);
        return error ? Promise.reject(error) : Promise.resolve({ revision: 0n, position: 1n });
      },
      close: () => Promise.resolve(),
    });
    await expect(append(appends)).resolves.toMatchObject({ revision: 0n });
  });
});

describe('probes of a store that denies appends', () => {
  it('end when the store is closed, also while one has no answer', async () => {
    vi.useFakeTimers();
    let probes = 0;
    let answer = (): void => undefined;
    const appends = deniedAppends(() => {
      probes += 1;
      return new Promise((_, reject) => (answer = () => reject(denied())));
    });
    await appends.noted(Promise.reject(new StoreUnavailable('denied', denied()))).catch(() => undefined);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(probes).toBe(1);
    appends.close();
    answer();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(probes).toBe(1);
  });
});
