import { describe, expect, it } from 'vitest';

import type { RecordedEvent } from '../../../../services/kernel/event.js';
import { encodeOnce } from '../../../../services/streams/tail/encode-once.js';

const event = {} as RecordedEvent;

describe('an event that many tails send', () => {
  it('is encoded once, also while it is being encoded', async () => {
    let count = 0;
    const encode = encodeOnce(() => Promise.resolve(new Uint8Array([(count += 1)])));
    const [one, other] = await Promise.all([encode(event), encode(event)]);
    expect(one).toBe(other);
    expect(encode(event)).toBe(one);
  });

  it('is encoded again after a failure, such as that of a payload out of reach', async () => {
    let isOut = true;
    const encode = encodeOnce(() =>
      isOut ? Promise.reject(new Error('out of reach')) : Promise.resolve(new Uint8Array()),
    );
    await expect(encode(event)).rejects.toThrow('out of reach');
    isOut = false;
    expect(await encode(event)).toEqual(new Uint8Array());
  });
});
