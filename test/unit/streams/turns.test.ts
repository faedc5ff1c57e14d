import { expect, it } from 'vitest';
import { createYieldTurn } from '../../../services/streams/eventstore/read/turns.js';

const busyFor = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

it('a reader yields to other work once it has worked for 10 ms, and goes on at once before that', async () => {
  const turn = createYieldTurn();
  expect(turn()).toBeUndefined();
  busyFor(15);
  let others = 0;
  setImmediate(() => (others += 1));
  await turn();
  expect(others).toBe(1);
  expect(turn()).toBeUndefined();
});
