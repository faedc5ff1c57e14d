import { describe, expect, it } from 'vitest';
import { EventLogService } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { rpcFailureOf } from '../../../services/gateway/status.js';
import { CorruptEvent, Fault, StoreUnavailable, StreamParked } from '../../../services/kernel/fault.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { tailErrorOf, tailFailureOf } from '../../../services/main/tail/tails.js';

/** A failure as another thread receives it. */
const crossed = (thrown: unknown): Error => tailErrorOf(structuredClone(tailFailureOf(thrown)));

describe('the failure of a tail', () => {
  it('keeps the status, and the delay before a retry', () => {
    const thrown = new RpcError('RESOURCE_EXHAUSTED', 'too many wait', [], 1_500);
    expect(crossed(thrown)).toEqual(thrown);
    expect(crossed(thrown)).toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 1_500 });
  });

  it.each([
    [new StoreUnavailable('gone'), 'UNAVAILABLE', 'a store is unavailable'],
    [new CorruptEvent('damaged'), 'INTERNAL', 'internal error'],
    [new StreamParked('tally-a', 7n, 'damaged'), 'UNAVAILABLE', 'stream tally-a is parked at position 7: damaged'],
  ])('is answered as the fault that it is: %s', (thrown, code, message) => {
    expect(rpcFailureOf(crossed(thrown), EventLogService.method.tail)).toEqual({ code, message, details: [] });
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
