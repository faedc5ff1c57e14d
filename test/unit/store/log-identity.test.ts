import { type EventStoreDBClient, WrongExpectedVersionError } from '@eventstore/db-client';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { logIdentity } from '../../../services/store/eventstore/log-identity.js';

it('a log whose last event of identity has no id is refused, and is not read again and again', async () => {
  let reads = 0;
  const client = {
    async *readStream() {
      reads += 1;
      if (reads > 10) throw new Error('it is read again and again');
      yield await Promise.resolve({ event: { data: { copyOf: 'another' } } });
    },
    appendToStream: () =>
      Promise.reject(
        new WrongExpectedVersionError(null as never, { streamName: 'a', current: 0n, expected: 'no_stream' }),
      ),
  };
  const refusal = await logIdentity(client as unknown as EventStoreDBClient).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(StoreUnavailable);
});
