import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ReadReqSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { EncodedCall } from '../../../services/kernel/ports/encoded-calls.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { readHandler } from '../../../services/streams/eventstore/read/read-handler.js';
import { storedForm } from '../../../services/streams/eventstore/recorded.js';
import { noStreamRules } from '../../../services/streams/eventstore/stream-rules.js';

const request: MessageInitShape<typeof ReadReqSchema> = {
  options: {
    streamOption: {
      case: 'stream',
      value: {
        streamIdentifier: { streamName: Buffer.from('counted-1') },
        revisionOption: { case: 'start', value: {} },
      },
    },
    countOption: { case: 'subscription', value: {} },
    filterOption: { case: 'noFilter', value: {} },
  },
};

/** A promise, and the function that resolves it. */
const eventually = () => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve: () => resolve() };
};

describe('a subscription that is sent its history when the server shuts down', () => {
  it('ends at once, and is closed when it has been opened', async () => {
    const [begun, overdue] = [new AbortController(), new AbortController()];
    const [reading, released, closed] = [eventually(), eventually(), eventually()];
    const log = {
      head: () => Promise.resolve(0n),
      async *readStream() {
        reading.resolve();
        await released.promise;
        yield [];
      },
      subscribe: () => ({
        ended: closed.promise,
        close: () => {
          closed.resolve();
          return closed.promise;
        },
      }),
    } as unknown as EventLog;
    const call = {
      header: () => undefined,
      request: () => Promise.resolve(Buffer.from(toBinary(ReadReqSchema, create(ReadReqSchema, request)))),
      send: () => Promise.resolve(),
      disconnected: new AbortController().signal,
    } as unknown as EncodedCall;
    const services = { log, rules: noStreamRules, present: storedForm, now: Date.now };
    const served = readHandler(services, { begun: begun.signal, overdue: overdue.signal })(call);
    await reading.promise;
    begun.abort();
    await expect(served).rejects.toThrow('Server Is Shutting Down');
    released.resolve();
    await closed.promise;
  });
});
