import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Appended } from '../../../kernel/ports/event-store.js';
import { type AppendMessage, appendRequest } from './append-request.js';
import type { AppendAnswer } from './append-answer.js';
import { type AppendCall, callError, openAppends } from './calls.js';

type Waiting = { readonly resolve: (appended: Appended) => void; readonly reject: (error: unknown) => void };

/** Sends appends over one client. */
export interface BatchAppends {
  /**
   * Sends an append; those of one client reach the server in the order of these calls.
   *
   * @throws the library's error for a refusal or for the end of the connection.
   */
  append(message: AppendMessage): Promise<Appended>;
}

/** One batch stream. Appends sent on it are answered on it, or fail when it ends. */
const appendStream = (opening: Promise<AppendCall>, onEnd: () => void): BatchAppends => {
  const waiting = new Map<number, Waiting>();
  let count = 0;

  const take = ({ correlation, result }: AppendAnswer): void => {
    const asked = waiting.get(correlation); // absent for a second answer, which servers may send
    waiting.delete(correlation);
    if (result instanceof Error) asked?.reject(result);
    else asked?.resolve(result);
  };

  const fail = (error: unknown): void => {
    onEnd();
    const failed = [...waiting.values()];
    waiting.clear();
    for (const { reject } of failed) reject(callError(error));
  };

  opening.then((call) => {
    call.on('data', take);
    call.on('error', fail);
    call.on('end', () => fail(new Error('the event store has ended the stream of appends')));
  }, fail);

  return {
    append: (message) => {
      count += 1;
      const correlation = count;
      const bytes = appendRequest(correlation, message);
      return new Promise((resolve, reject) => {
        waiting.set(correlation, { resolve, reject });
        opening.then((call) => call.write(bytes), reject);
      });
    },
  };
};

/** Sends all appends of a client over one stream. When it ends, all of them fail, and the next append opens another. */
export const batchAppends = (client: EventStoreDBClient): BatchAppends => {
  let current: BatchAppends | undefined;
  const open = (): BatchAppends => {
    const opened: BatchAppends = appendStream(openAppends(client), () => {
      if (current === opened) current = undefined;
    });
    return opened;
  };
  return { append: (message) => (current ??= open()).append(message) };
};
