import { expect, it } from 'vitest';
import { catchUp } from '../../../services/main/views/current-views.js';

const failed = new Promise<never>(() => undefined);

it.each([
  [100, 100],
  [Infinity, 2_000],
])('a wait of %s ms for the views has steps of at most %s ms', async (waitMs, stepMs) => {
  const steps: number[] = [];
  const views = {
    position: () => 0n,
    reached: (_: bigint, timeoutMs: number) => {
      steps.push(timeoutMs);
      return Promise.resolve(true);
    },
  };
  await catchUp(views, 1n, { failed, until: performance.now() + waitMs }, { info: () => undefined });
  expect(steps).toHaveLength(1);
  expect(steps[0]).toBeGreaterThan(0);
  expect(steps[0]).toBeLessThanOrEqual(stepMs);
});
