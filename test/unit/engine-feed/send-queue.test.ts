import { expect, it } from 'vitest';
import { MAX_WAITING, openSendQueue, type SendQueue } from '../../../services/streams/engine-feed/send-queue.js';

/** A queue with so many waiting messages that it is not writable. */
const fullQueue = (): SendQueue => {
  const queue = openSendQueue();
  for (let sent = 0; sent < MAX_WAITING; sent += 1) queue.send({ case: 'renewed', value: {} });
  return queue;
};

/** True when a promise is settled as soon as all callbacks that are due have run. */
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  const turn = new Promise<false>((resolve) => setImmediate(resolve, false));
  return Promise.race([promise.then(() => true), turn]);
};

it('a send queue is writable until too many messages wait, and again when the engine has read one', async () => {
  expect(await isSettled(openSendQueue().writable())).toBe(true);
  const queue = fullQueue();
  const writable = queue.writable();
  expect(await isSettled(writable)).toBe(false);
  await queue.messages(new AbortController().signal).next();
  expect(await isSettled(writable)).toBe(true);
});

it.each<[string, (queue: SendQueue) => unknown]>([
  ['when the stream ends', (queue) => queue.end()],
  ['when the engine leaves', (queue) => queue.messages(AbortSignal.abort()).next()],
])('a full send queue lets waiting callers continue %s', async (_name, end) => {
  const queue = fullQueue();
  const writable = queue.writable();
  await end(queue);
  expect(await isSettled(writable)).toBe(true);
});
