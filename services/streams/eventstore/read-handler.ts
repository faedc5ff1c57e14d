import { randomUUID } from 'node:crypto';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import { ReadReqSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { Subscription } from '../../kernel/ports/event-store.js';
import { OWN_CONNECTION } from '../../kernel/ports/log-identity.js';
import { decoded } from './codec.js';
import { failedCall, type StreamsLog } from './failed-call.js';
import { readOnce, type ReadServices } from './read.js';
import { readPlan } from './read-request.js';
import { storedForm, encoded } from './recorded.js';
import { type Shutdown, unlessSignalled } from './shutdown.js';
import { follow, type Send } from './subscribe.js';

type ReadCall = ServerWritableStream<Buffer, Buffer>;

/** The client has disconnected, so no status is sent. */
class ReaderGone extends Error {}

/** Waits for an event. `once` of `node:events` would also reject on the 'error' event that ends the call. */
const once = (call: ReadCall, event: 'cancelled' | 'drain'): Promise<void> =>
  new Promise((resolve) => call.once(event, () => resolve()));

/** Makes the `send` of a call. It waits while the client does not read, so that unread answers do not pile up. */
const sendTo = (call: ReadCall): Send => {
  const gone = once(call, 'cancelled');
  return async (content) => {
    if (call.cancelled) throw new ReaderGone();
    if (!call.write(encoded(content))) await Promise.race([once(call, 'drain'), gone]);
  };
};

const untilGone = async (call: ReadCall, subscription: Subscription, { begun }: Shutdown): Promise<void> => {
  try {
    await unlessSignalled(Promise.race([subscription.ended, once(call, 'cancelled')]), begun);
  } finally {
    await subscription.close();
  }
};

/** Other flightlog processes, recognized by their connection name, always get events as they were stored. */
const readingFor = (reading: ReadServices, { metadata }: ReadCall): ReadServices =>
  metadata.get('connection-name')[0] === OWN_CONNECTION ? { ...reading, present: storedForm } : reading;

const answer = async (reading: ReadServices, call: ReadCall, shutdown: Shutdown): Promise<void> => {
  const plan = readPlan(decoded(ReadReqSchema, call.request));
  const send = sendTo(call);
  const { count } = plan;
  if (count !== undefined) {
    for await (const content of readOnce(reading, { ...plan, count })) await send(content);
    return;
  }
  await untilGone(call, await follow(reading, plan, { send, subscriptionId: randomUUID() }), shutdown);
};

/** Serves Read: reads and subscriptions. A shutdown ends subscriptions at once, and reads after the drain time. */
export const readHandler =
  (reading: ReadServices, shutdown: Shutdown, log: StreamsLog): handleServerStreamingCall<Buffer, Buffer> =>
  (call) =>
    void unlessSignalled(answer(readingFor(reading, call), call, shutdown), shutdown.overdue).then(
      () => call.end(),
      (thrown: unknown) => {
        if (!(thrown instanceof ReaderGone)) call.emit('error', failedCall(log, 'Read', thrown));
      },
    );
