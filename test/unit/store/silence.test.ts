import { describe, expect, it } from 'vitest';
import { silenceCheck } from '../../../services/store/eventstore/silence.js';

const looked = () => {
  const state = { signs: 0, position: 5n, head: 5n, asked: 0 };
  const look = silenceCheck(
    () => state,
    () => {
      state.asked += 1;
      return Promise.resolve(state.head);
    },
  );
  return { state, look };
};

describe('a subscription to the log', () => {
  it('has not been forgotten while nothing happens in it', async () => {
    const { look } = looked();
    for (let turn = 0; turn < 5; turn += 1) expect(await look()).toBe(false);
  });

  it('was dropped when the log grows and nothing was received between two checks', async () => {
    const { state, look } = looked();
    await look();
    state.head = 9n;
    expect(await look()).toBe(false);
    expect(await look()).toBe(true);
  });

  it('has not been forgotten when something is heard, however far behind that is', async () => {
    const { state, look } = looked();
    state.head = 9n;
    for (let turn = 0; turn < 6; turn += 1) {
      if (turn % 2 === 0) state.signs += 1;
      expect(await look()).toBe(false);
    }
  });

  it('costs a busy log no question', async () => {
    const { state, look } = looked();
    for (let turn = 0; turn < 5; turn += 1) {
      state.signs += 1;
      await look();
    }
    expect(state.asked).toBe(0);
  });

  it('asks again where the log did not say where it is', async () => {
    let isThere = false;
    const look = silenceCheck(
      () => ({ signs: 0, position: 1n }),
      () => (isThere ? Promise.resolve(2n) : Promise.reject(new Error('away'))),
    );
    await look();
    await expect(look()).rejects.toThrow('away');
    isThere = true;
    expect(await look()).toBe(false);
    expect(await look()).toBe(true);
  });
});
