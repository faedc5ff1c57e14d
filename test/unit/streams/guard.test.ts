import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { StoreUnavailable } from '../../../services/kernel/fault.js';
import type { EncodedCall } from '../../../services/kernel/ports/encoded-calls.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { type Admissions, guarding } from '../../../services/streams/eventstore/guard.js';

const guard = guarding({
  admit: () => Promise.reject(new Error('no call is made here')),
  ended: () => undefined,
});
const handle = (): Promise<void> => Promise.resolve();

describe('the guard of the EventStoreDB protocol', () => {
  it('leaves calls that need no credentials as they are, and guards a read of streams', () => {
    expect(guard('/event_store.client.gossip.Gossip/Read', handle)).toBe(handle);
    expect(guard('/event_store.client.server_features.ServerFeatures/GetSupportedMethods', handle)).toBe(handle);
    expect(guard('/event_store.client.streams.Streams/Read', handle)).not.toBe(handle);
  });

  it('cannot be made for a call without a declared permission', () => {
    expect(() => guard('/event_store.client.users.Users/Create', handle)).toThrow('no permission is declared for');
  });
});

describe('an open call', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['the issuer of its token', new RpcError('UNAVAILABLE', 'the issuer is away')],
    ['the store of the keys', new StoreUnavailable('the disk is full')],
  ])('goes on while %s cannot be asked, until the token expires', async (_, error) => {
    const admitted = { principal: 'ada', issuer: 'i', clientId: '', expiresAt: Date.now() + 3_000 };
    const admissions: Admissions = { admit: () => Promise.resolve(admitted), ended: () => undefined };
    const open = guarding(admissions)('/event_store.client.streams.Streams/Read', () => new Promise(() => undefined));
    const ended: { code?: string } = {};
    const call = {
      path: '',
      header: () => undefined,
      peer: { address: '' },
      certificate: () => undefined,
      disconnected: new AbortController().signal,
    } as unknown as EncodedCall;
    open(call).catch((error: unknown) => (ended.code = (error as RpcError).code));
    await vi.advanceTimersByTimeAsync(0);
    admissions.admit = () => Promise.reject(error);
    await vi.advanceTimersByTimeAsync(2_500);
    expect(ended).toEqual({});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(ended).toEqual({ code: 'UNAUTHENTICATED' });
  });
});
