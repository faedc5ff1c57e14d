import type { MessagePort } from 'node:worker_threads';
import { Fault, OutcomeUnknown } from '../../kernel/fault.js';
import type { Appended, EventStore } from '../../kernel/ports/event-store.js';
import { answerOver, askOver } from '../threads/messages.js';
import { errorText } from '../../kernel/error-text.js';

type Append = EventStore['append'];

/** The client end: sends appends to the thread that has the store. */
export const relayedAppends = (port: MessagePort): Append => {
  const appends = askOver<Parameters<Append>, Appended>(port);
  return (...append) => appends.ask(append);
};

/** The server end, on the thread that has the store: starts appends in their order, and answers each when done. */
export const relayAppends = (port: MessagePort, store: Pick<EventStore, 'append'>): void =>
  answerOver(port, async (append: Parameters<Append>): Promise<Appended> => {
    try {
      return await store.append(...append);
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw new OutcomeUnknown(errorText(error));
    }
  });
