import { expect, it } from 'vitest';
import { MAX_POSITION } from '../../../projections/runtime/partitions.js';
import { logEndText } from '../../../services/kernel/log-readers/log-end.js';
import { headLag } from '../../../services/health/head-lag.js';
import { lagCheck } from '../../../services/health/checks.js';
import { until } from '../../support/until.js';

/** A log with a settable head, which counts the reads of it. */
const logAt = (head: bigint) => {
  const state = { head, reads: 0 };
  const log = {
    head: () => {
      state.reads += 1;
      return Promise.resolve(state.head);
    },
  };
  return { log, state };
};

it('a log that ends before the position that was read makes a process not ready after `maxMs`, until it reaches that position', async () => {
  const { log, state } = logAt(5n);
  const lag = headLag(log, () => 9n);
  try {
    await until(
      () => Promise.resolve(lag.problem()),
      (problem) => problem !== undefined,
    );
    const check = () => lagCheck('log', lag, { maxMs: 0, otherwise: 'degraded' });
    expect(check()).toMatchObject({ state: 'down', why: logEndText(5n, 9n) });
    expect(lagCheck('log', lag, { maxMs: 600_000, otherwise: 'degraded' })).toMatchObject({ state: 'well' });
    state.head = 9n;
    await until(
      () => Promise.resolve(lagCheck('log', lag, { maxMs: 5_000, otherwise: 'down' })),
      ({ state: said }) => said === 'well' && lag.problem() === undefined,
    );
  } finally {
    lag.close();
  }
});

it('views without a projector, which count as read to the largest position, are not taken for ahead of the log', async () => {
  const { log, state } = logAt(5n);
  const lag = headLag(log, () => MAX_POSITION);
  try {
    await until(
      () => Promise.resolve(state.reads),
      (reads) => reads >= 2,
    );
    expect(lag.problem()).toBeUndefined();
  } finally {
    lag.close();
  }
});
