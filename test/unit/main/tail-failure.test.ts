import { describe, expect, it } from 'vitest';
import { CorruptEvent, Fault, StoreUnavailable } from '../../../services/kernel/fault.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { tailErrorOf, tailFailureOf } from '../../../services/main/tail/tails.js';

/** A failure as the other thread has it. */
const crossed = (thrown: unknown): Error => tailErrorOf(structuredClone(tailFailureOf(thrown)));

describe('the failure of a tail', () => {
  it('keeps the status, and the delay before a retry', () => {
    const thrown = new RpcError('RESOURCE_EXHAUSTED', 'too many wait', [], 1_500);
    expect(crossed(thrown)).toEqual(thrown);
    expect(crossed(thrown)).toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 1_500 });
  });

  it.each([new StoreUnavailable('gone'), new CorruptEvent('gone')])('is UNAVAILABLE for %s', (thrown) => {
    expect(crossed(thrown)).toEqual(new StoreUnavailable('gone'));
  });

  it('has no status for a bug, and keeps its message and stack for the log', () => {
    const bug = new TypeError('x is undefined', { cause: () => undefined });
    const { stack } = crossed(bug);
    expect(crossed(bug)).not.toBeInstanceOf(Fault);
    expect(crossed(bug).message).toBe('x is undefined');
    expect(stack).toBe(bug.stack);
    expect(crossed('a text').message).toBe('a text');
  });
});
