import { describe, expect, it } from 'vitest';
import { silenceCheck } from '../../../services/store/eventstore/silence.js';

/** A check of a subscription and a log, whose state the test sets. */
const checked = () => {
  const state = { receivedCount: 0, position: 5n, head: 5n, headReads: 0 };
  const isSilent = silenceCheck(
    () => state,
    () => {
      state.headReads += 1;
      return Promise.resolve(state.head);
    },
  );
  return { state, isSilent };
};

describe('a subscription to the log', () => {
  it('is not silent while the log does not grow', async () => {
    const { isSilent } = checked();
    for (let turn = 0; turn < 5; turn += 1) expect(await isSilent()).toBe(false);
  });

  it('is silent when the log grows and nothing was received between two checks', async () => {
    const { state, isSilent } = checked();
    await isSilent();
    state.head = 9n;
    expect(await isSilent()).toBe(false);
    expect(await isSilent()).toBe(true);
  });

  it('is not silent when anything is received, however far it is behind the head', async () => {
    const { state, isSilent } = checked();
    state.head = 9n;
    for (let turn = 0; turn < 6; turn += 1) {
      if (turn % 2 === 0) state.receivedCount += 1;
      expect(await isSilent()).toBe(false);
    }
  });

  it('is checked without reading the head while events arrive', async () => {
    const { state, isSilent } = checked();
    for (let turn = 0; turn < 5; turn += 1) {
      state.receivedCount += 1;
      await isSilent();
    }
    expect(state.headReads).toBe(0);
  });

  it('is checked again after the head could not be read', async () => {
    let isAvailable = false;
    const isSilent = silenceCheck(
      () => ({ receivedCount: 0, position: 1n }),
      () => (isAvailable ? Promise.resolve(2n) : Promise.reject(new Error('unavailable'))),
    );
    await isSilent();
    await expect(isSilent()).rejects.toThrow('unavailable');
    isAvailable = true;
    expect(await isSilent()).toBe(false);
    expect(await isSilent()).toBe(true);
  });
});
