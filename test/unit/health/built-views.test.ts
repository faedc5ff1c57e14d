import { expect, it } from 'vitest';
import { viewsCheck } from '../../../services/health/checks.js';
import { viewLags } from '../../../services/main/metrics.js';

const lag = { ms: () => 10, problem: () => undefined, endsEarly: () => false, close: () => undefined };
const well = { name: 'views', state: 'well', lagMs: 10 } as const;

it('views that are being built are named in a check that would be well without them', () => {
  expect(viewsCheck(lag, { building: [] }, 'down')).toEqual(well);
  const reason = 'being built from the log: tasks, signals';
  expect(viewsCheck(lag, { building: ['tasks', 'signals'] }, 'degraded')).toEqual({
    ...well,
    state: 'degraded',
    why: reason,
  });
  expect(viewsCheck(lag, { building: ['tasks'], problem: 'disk is full' }, 'down').why).toBe('disk is full');
  const late = { ...lag, ms: () => 6_000 };
  expect(viewsCheck(late, { building: ['tasks'] }, 'down').why).toBe('more than 5000 ms behind the log');
});

it('a view that is being built lags by at least the time since that was first seen, and others by the lag of the views', () => {
  let nowMs = 0;
  let building: readonly string[] = [];
  const read = viewLags({ checks: () => [well], building: () => building }, () => nowMs);
  const lags = () => new Map(read().map(({ labels, value }) => [labels?.['model'], value]));
  expect(new Set(lags().values())).toEqual(new Set([0.01]));
  building = ['tasks'];
  expect(lags().get('tasks')).toBe(0.01);
  nowMs = 60_000;
  expect([lags().get('tasks'), lags().get('executions')]).toEqual([60, 0.01]);
  building = [];
  expect(lags().get('tasks')).toBe(0.01);
});
