import { describe, expect, it } from 'vitest';

import { deliverInTurns } from '../../../projections/store/sqlite/deliver-in-turns.js';

/** Keeps the thread busy. Once the messages of a turn have taken 10 ms, further ones wait for the next turn. */
const busy = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('messages that arrive in one turn of the event loop', () => {
  it('are delivered at once when no time has been taken', () => {
    const delivered: number[] = [];
    const take = deliverInTurns<number>((message) => delivered.push(message));
    take(1);
    expect(delivered).toEqual([1]);
  });

  it('wait for a later turn after one that took long, and need no turn each when they take no time', async () => {
    const delivered: number[] = [];
    const take = deliverInTurns<number>((message) => {
      delivered.push(message);
      if (message === 1) busy(11);
    });
    for (const message of [1, 2, 3, 4]) take(message);
    expect(delivered).toEqual([1]);
    await endOfTurn();
    await endOfTurn();
    expect(delivered).toEqual([1, 2, 3, 4]);
  });

  it('are delivered one in each turn when they take long, in order, with those that arrive later', async () => {
    const delivered: number[] = [];
    const take = deliverInTurns<number>((message) => {
      delivered.push(message);
      busy(11);
    });
    for (const message of [1, 2, 3, 4]) take(message);
    expect(delivered).toEqual([1]);
    await endOfTurn();
    expect(delivered).toEqual([1, 2]);
    take(5);
    expect(delivered).toEqual([1, 2]);
    for (let turns = 0; turns < 3; turns++) await endOfTurn();
    expect(delivered).toEqual([1, 2, 3, 4, 5]);
    await endOfTurn();
    take(6);
    expect(delivered).toHaveLength(6);
  });
});
