import { type Call, RpcError } from '../../kernel/rpc.js';
import { type InFlight, MAX_EVENTS, openInFlight } from './in-flight.js';
import { encodeResponse, reportedEvent } from './messages.js';
import { openAnswerQueue, type AnswerQueue } from './answer-queue.js';

/** Dispatches events until the last one or `isOver`; does not read while the window is full. */
const takeAll = async (
  requests: AsyncIterable<readonly Uint8Array[]>,
  { inFlight, answers, isOver }: { inFlight: InFlight; answers: AnswerQueue; isOver: () => boolean },
): Promise<void> => {
  for await (const batch of requests) {
    for (const request of batch) {
      const event = reportedEvent(request);
      if (answers.isFull()) await answers.writable();
      if (isOver()) return;
      const queued = inFlight.take(event, (answer) => answers.put(encodeResponse(event.sequence, answer)));
      if (queued) await queued;
    }
  }
};

/** Rejects when the process begins to shut down. */
const rejectOnShutdown = (shutdown: AbortSignal | undefined, over: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const refuse = (): void =>
      reject(new RpcError('UNAVAILABLE', 'shutting down; send the unanswered events to another server'));
    if (shutdown?.aborted === true) refuse();
    shutdown?.addEventListener('abort', refuse, { once: true, signal: over });
  });

/**
 * Answers each `ReportRequest` of a stream with a `ReportResponse`. When the process shuts down, or a request is
 * malformed, the events read before are answered first.
 *
 * @throws {RpcError} INVALID_ARGUMENT when a request is malformed; UNAVAILABLE when the process shuts down.
 */
export const report = async function* (
  requests: AsyncIterable<readonly Uint8Array[]>,
  call: Call,
  gone: AbortSignal,
): AsyncGenerator<readonly Uint8Array[]> {
  const answers = openAnswerQueue(MAX_EVENTS);
  const inFlight = openInFlight(call);
  const over = new AbortController();
  const isOver = (): boolean => over.signal.aborted;
  gone.addEventListener('abort', () => answers.end(), { once: true });
  const takeAllUntilShutdown = async (): Promise<void> => {
    try {
      await Promise.race([
        takeAll(requests, { inFlight, answers, isOver }),
        rejectOnShutdown(call.shutdown, over.signal),
      ]);
    } finally {
      over.abort();
      await inFlight.settled();
    }
  };
  takeAllUntilShutdown().then(
    () => answers.end(),
    (failure: unknown) => answers.end(failure instanceof Error ? failure : new Error(String(failure))),
  );
  try {
    yield* answers.answers();
  } finally {
    over.abort();
  }
};
