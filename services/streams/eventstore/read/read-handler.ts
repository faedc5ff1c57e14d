import { randomUUID } from 'node:crypto';
import { ReadReqSchema } from '../../../../proto/gen/event_store/client/streams_pb.js';
import type { EncodedCall, EncodedHandler } from '../../../kernel/ports/encoded-calls.js';
import type { Subscription } from '../../../kernel/ports/event-store.js';
import { OWN_CONNECTION } from '../../../kernel/ports/log-identity.js';
import { readOnce, type ReadServices } from './read.js';
import { readPlan } from './read-request.js';
import { storedForm } from '../recorded.js';
import { decodedRequest } from '../request-text.js';
import { aborted, type Shutdown, unlessSignalled } from '../shutdown.js';
import { openSubscription } from './subscribe.js';

/** Waits until a subscription is open, which may take as long as its history. A shutdown ends the call before. */
const opened = async (opening: Promise<Subscription>, { begun }: Shutdown): Promise<Subscription> => {
  try {
    return await unlessSignalled(opening, begun);
  } catch (error) {
    void opening.then((subscription) => subscription.close()).catch(() => undefined);
    throw error;
  }
};

const untilDisconnected = async (
  { disconnected }: EncodedCall,
  subscription: Subscription,
  { begun }: Shutdown,
): Promise<void> => {
  try {
    await unlessSignalled(Promise.race([subscription.ended, aborted(disconnected)]), begun);
  } finally {
    await subscription.close();
  }
};

/** Clients with the connection name of flightlog always get events as they were stored. */
const readingFor = (reading: ReadServices, { header }: EncodedCall): ReadServices =>
  header('connection-name') === OWN_CONNECTION ? { ...reading, present: storedForm } : reading;

const answer = async (reading: ReadServices, call: EncodedCall, shutdown: Shutdown): Promise<void> => {
  const plan = readPlan(decodedRequest(ReadReqSchema, await call.request()));
  const { count } = plan;
  if (count !== undefined) {
    for await (const content of readOnce(reading, { ...plan, count })) await call.send(content);
    return;
  }
  const opening = openSubscription(reading, plan, { send: call.send, subscriptionId: randomUUID() });
  await untilDisconnected(call, await opened(opening, shutdown), shutdown);
};

/** Serves Read: reads and subscriptions. A shutdown ends subscriptions at once, and reads after the drain time. */
export const readHandler =
  (reading: ReadServices, shutdown: Shutdown): EncodedHandler =>
  (call) =>
    unlessSignalled(answer(readingFor(reading, call), call, shutdown), shutdown.overdue);
