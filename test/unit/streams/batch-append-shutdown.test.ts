import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BatchAppendReqSchema, BatchAppendRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { EncodedCall } from '../../../services/kernel/ports/encoded-calls.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { fullAccess } from '../../../services/streams/eventstore/access.js';
import { batchAppendHandler } from '../../../services/streams/eventstore/append/append-handler.js';
import { noStreamRules } from '../../../services/streams/eventstore/stream-rules.js';
import { openEmptyLog } from '../../support/streams/filled-log.js';

const stream = streamName('counted', [randomUUID()]);

/** A complete batch append of one event, with this correlation id. */
const request = (id: string): Buffer => {
  const message: MessageInitShape<typeof BatchAppendReqSchema> = {
    correlationId: { value: { case: 'string', value: id } },
    options: {
      streamIdentifier: { streamName: Buffer.from(stream) },
      expectedStreamPosition: { case: 'any', value: {} },
    },
    proposedMessages: [
      {
        id: { value: { case: 'string', value: randomUUID() } },
        metadata: { type: 'Counted', 'content-type': 'application/json' },
        data: Buffer.from('{}'),
      },
    ],
    isFinal: true,
  };
  return Buffer.from(toBinary(BatchAppendReqSchema, create(BatchAppendReqSchema, message)));
};

const correlationIn = (answer: Uint8Array): unknown =>
  fromBinary(BatchAppendRespSchema, answer).correlationId?.value.value;

/** A promise, and the function that resolves it. */
const eventually = () => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve: () => resolve() };
};

describe('a batch stream whose server shuts down', () => {
  let directory: string;
  let store: EventStore;
  beforeAll(async () => {
    ({ directory, store } = await openEmptyLog());
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  it('answers each append that it writes, and writes none of those that come later', async () => {
    const [begun, overdue] = [new AbortController(), new AbortController()];
    const answered: unknown[] = [];
    const [released, inFlight, requestsOver] = [eventually(), eventually(), eventually()];
    const append: EventStore['append'] = async (...asked) => {
      if (answered.length > 0) {
        inFlight.resolve();
        await released.promise; // the second is in flight when the shutdown begins
      }
      return store.append(...asked);
    };
    const call = {
      async *requests() {
        try {
          yield request('1');
          await expect.poll(() => answered.length).toBe(1);
          yield request('2');
          await inFlight.promise;
          begun.abort();
          yield request('3');
          yield request('4');
          requestsOver.resolve();
          await new Promise(() => undefined); // the client does not end the stream
        } finally {
          requestsOver.resolve(); // the server does not read on
        }
      },
      send: (answer: Uint8Array) => Promise.resolve(void answered.push(correlationIn(answer))),
    };
    const writing = {
      store: Object.assign(Object.create(store) as EventStore, { append }),
      ...{ access: fullAccess, rules: noStreamRules, now: Date.now, newId: () => randomBytes(16) },
    };
    const shutdown = { begun: begun.signal, overdue: overdue.signal };
    const served = batchAppendHandler(writing, shutdown)(call as unknown as EncodedCall);
    served.catch(() => undefined);
    await requestsOver.promise;
    released.resolve();
    await expect(served).rejects.toThrow('Server Is Shutting Down');
    let written = 0;
    for await (const page of store.readStream(stream)) written += page.length;
    expect(answered.length).toBe(written);
    expect(answered).toEqual(['1', '2']);
  });
});
