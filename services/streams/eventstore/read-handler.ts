import { randomUUID } from 'node:crypto';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import { ReadReqSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { Subscription } from '../../kernel/ports/event-store.js';
import { OWN_CONNECTION } from '../../kernel/ports/log-identity.js';
import { decoded } from './codec.js';
import { failedCall, type StreamsLog } from './failed-call.js';
import { readOnce, type Reading } from './read.js';
import { readPlan } from './read-request.js';
import { asStored, encoded } from './recorded.js';
import { type Shutdown, unlessSignalled } from './shutdown.js';
import { follow, type Send } from './subscribe.js';

type ReadCall = ServerWritableStream<Buffer, Buffer>;

/** The reader has gone; nothing is to be said to it. */
class ReaderGone extends Error {}

/** Not `once` of the library: it would take the error that ends the call for its own. */
const heard = (call: ReadCall, event: 'cancelled' | 'drain'): Promise<void> =>
  new Promise((resolve) => call.once(event, () => resolve()));

/** Writes, and waits while the reader is slow: what it has not taken is not held here. */
const sendTo = (call: ReadCall): Send => {
  const gone = heard(call, 'cancelled');
  return async (content) => {
    if (call.cancelled) throw new ReaderGone();
    if (!call.write(encoded(content))) await Promise.race([heard(call, 'drain'), gone]);
  };
};

const untilGone = async (call: ReadCall, subscription: Subscription, { begun }: Shutdown): Promise<void> => {
  try {
    await unlessSignalled(Promise.race([subscription.ended, heard(call, 'cancelled')]), begun);
  } finally {
    await subscription.close();
  }
};

/** Readers that are flightlogs themselves get events as they were stored, whatever others get. */
const readingFor = (reading: Reading, { metadata }: ReadCall): Reading =>
  metadata.get('connection-name')[0] === OWN_CONNECTION ? { ...reading, present: asStored } : reading;

const answer = async (reading: Reading, call: ReadCall, shutdown: Shutdown): Promise<void> => {
  const plan = readPlan(decoded(ReadReqSchema, call.request));
  const send = sendTo(call);
  const { count } = plan;
  if (count !== undefined) {
    for await (const content of readOnce(reading, { ...plan, count })) await send(content);
    return;
  }
  await untilGone(call, await follow(reading, plan, { send, subscriptionId: randomUUID() }), shutdown);
};

/** Serves reads and subscriptions; a shutdown ends the subscriptions at once, and reads when they are overdue. */
export const readHandler =
  (reading: Reading, shutdown: Shutdown, log: StreamsLog): handleServerStreamingCall<Buffer, Buffer> =>
  (call) =>
    void unlessSignalled(answer(readingFor(reading, call), call, shutdown), shutdown.overdue).then(
      () => call.end(),
      (thrown: unknown) => {
        if (!(thrown instanceof ReaderGone)) call.emit('error', failedCall(log, 'Read', thrown));
      },
    );
