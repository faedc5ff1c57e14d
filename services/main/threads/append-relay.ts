import type { MessagePort } from 'node:worker_threads';
import type { Appended, EventStore, ExpectedRevision } from '../../kernel/ports/event-store.js';
import type { NewEvent } from '../../kernel/event.js';
import {
  AppendTooLarge,
  Fault,
  type FaultCode,
  OutcomeUnknown,
  RevisionConflict,
  StoreUnavailable,
} from '../../kernel/fault.js';
import type { StreamName } from '../../kernel/stream.js';

type Asked = {
  readonly id: number;
  readonly stream: StreamName;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
};

type Answered =
  | { readonly id: number; readonly appended: Appended }
  | { readonly id: number; readonly code: FaultCode; readonly message: string };

/** The append of a thread that does not have the store itself. */
export type RelayedAppend = EventStore['append'];

const FAULTS: Partial<Record<FaultCode, new (message: string) => Fault>> = {
  'revision-conflict': RevisionConflict,
  'append-too-large': AppendTooLarge,
  'outcome-unknown': OutcomeUnknown,
};

const faultOf = (code: FaultCode, message: string): Fault => new (FAULTS[code] ?? StoreUnavailable)(message);

/** The client end: sends appends to the thread that has the store. */
export const relayedAppends = (port: MessagePort): RelayedAppend => {
  const waiting = new Map<number, { resolve: (appended: Appended) => void; reject: (error: Error) => void }>();
  let count = 0;
  port.on('message', (answer: Answered) => {
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('appended' in answer) asked?.resolve(answer.appended);
    else asked?.reject(faultOf(answer.code, answer.message));
  });
  return (stream, expected, events) =>
    new Promise((resolve, reject) => {
      count += 1;
      waiting.set(count, { resolve, reject });
      port.postMessage({ id: count, stream, expected, events } satisfies Asked);
    });
};

/** The server end, on the thread that has the store: starts appends in their order, and answers each when done. */
export const relayAppends = (port: MessagePort, store: EventStore): void => {
  const answer = (answered: Answered): void => port.postMessage(answered);
  port.on('message', ({ id, stream, expected, events }: Asked) => {
    store.append(stream, expected, events).then(
      (appended) => answer({ id, appended }),
      (error: unknown) =>
        answer({
          id,
          code: error instanceof Fault ? error.code : 'outcome-unknown',
          message: error instanceof Error ? error.message : String(error),
        }),
    );
  });
};
