import { describe, expect, it } from 'vitest';

import { guarding } from '../../../services/streams/eventstore/guard.js';

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
