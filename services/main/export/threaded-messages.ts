import { Worker } from 'node:worker_threads';
import type { MessageSource, OnMessages } from '../../reactors/export-to-kafka/message-source.js';
import { unpacked } from '../../reactors/export-to-kafka/packed-messages.js';
import type { MessageThreadCommand, MessageThreadData, MessageThreadMessage } from './message-thread.js';

/** Handles the thread's pages one after another, and acknowledges each; rejects with a failure of either side. */
const takeFrom = (worker: Worker, onMessages: OnMessages): Promise<never> =>
  new Promise((_, reject) => {
    let taking = Promise.resolve();
    worker.on('message', (message: MessageThreadMessage) => {
      if ('failure' in message) {
        reject(message.failure);
        return;
      }
      taking = taking
        .then(() => onMessages(unpacked(message.page), message.position))
        .then(() => worker.postMessage('taken' satisfies MessageThreadCommand));
      taking.catch(reject);
    });
    worker.once('error', reject);
  });

/**
 * Reads the log and makes the messages on a thread of its own for each subscription, so that the calling thread only
 * has to send them.
 */
export const threadedMessages = (given: Omit<MessageThreadData, 'wanted'>): MessageSource => ({
  follow: (wanted, onMessages) => {
    const worker = new Worker(new URL('./message-thread.js', import.meta.url), {
      workerData: { ...given, wanted } satisfies MessageThreadData,
    });
    let isClosing = false;
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    const wasClosed = exited.then(() => {
      if (!isClosing) throw new Error('the thread that makes messages has ended');
    });
    const ended = Promise.race([takeFrom(worker, onMessages), wasClosed]);
    ended.catch(() => undefined); // not unhandled: callers may await `ended` later
    return {
      ended,
      close: async () => {
        isClosing = true;
        worker.postMessage('close' satisfies MessageThreadCommand);
        await exited;
      },
    };
  },
});
