import { EngineService } from '../../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import { asError } from '../../kernel/error-text.js';
import { type AnyRoute, bytesRoute, type Call, RpcError } from '../../kernel/rpc.js';
import { type AnswerQueue, openAnswerQueue } from './answer-queue.js';
import { type EventsInFlight, MAX_EVENTS, openInFlight } from './in-flight.js';
import { encodeBatch, encodeResponse, reportedEvent, reportedEvents } from './messages.js';

/** Dispatches events until the last one or `isOver`; does not read while the window or the queue of answers is full. */
const takeAll = async (
  requests: AsyncIterable<readonly Uint8Array[]>,
  { inFlight, answers, isOver }: { inFlight: EventsInFlight; answers: AnswerQueue; isOver: () => boolean },
): Promise<void> => {
  for await (const batch of requests) {
    for (const request of batch) {
      const event = reportedEvent(request);
      if (answers.isFull()) await answers.writable();
      if (isOver()) return;
      const queued = inFlight.dispatch(event, (answer) => answers.put(encodeResponse(event.sequence, answer)));
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
 * malformed, the events that were dispatched before are answered first.
 *
 * @throws {RpcError} INVALID_ARGUMENT when a request is malformed; UNAVAILABLE when the process shuts down.
 */
const report = async function* (
  requests: AsyncIterable<readonly Uint8Array[]>,
  call: Call,
  disconnected: AbortSignal,
): AsyncGenerator<readonly Uint8Array[]> {
  const answers = openAnswerQueue(MAX_EVENTS);
  const inFlight = openInFlight(call);
  const over = new AbortController();
  const isOver = (): boolean => over.signal.aborted;
  disconnected.addEventListener('abort', () => answers.end(), { once: true });
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
    (failure: unknown) => answers.end(asError(failure)),
  );
  try {
    yield* answers.answers();
  } finally {
    over.abort();
  }
};

const MAX_BATCH_EVENTS = 10_000;
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

const assertTaken = (index: number, bytes: number): void => {
  const tooLarge = (limit: string): RpcError =>
    new RpcError('RESOURCE_EXHAUSTED', `message larger than max: events[${index}] is beyond ${limit} of a batch`);
  if (index >= MAX_BATCH_EVENTS) throw tooLarge(`the ${MAX_BATCH_EVENTS} events`);
  if (bytes > MAX_BATCH_BYTES) throw tooLarge(`the ${MAX_BATCH_BYTES} bytes`);
};

/**
 * Answers a batch of events, an encoded `ReportBatchRequest`. Records nothing of a batch that is too large or
 * malformed.
 *
 * @returns the encoded `ReportBatchResponse`, with the answers in the order of the events.
 * @throws {RpcError} RESOURCE_EXHAUSTED or INVALID_ARGUMENT naming the first event beyond the limits, or malformed.
 */
const reportBatch = async (batch: Uint8Array, call: Call): Promise<Uint8Array> => {
  const events = reportedEvents(batch, assertTaken);
  const responses: Uint8Array[] = [];
  const inFlight = openInFlight(call);
  for (const [index, event] of events.entries())
    await inFlight.dispatch(event, (answer) => {
      responses[index] = encodeResponse(event.sequence, answer);
    });
  await inFlight.settled();
  return encodeBatch(responses);
};

/** The routes by which engines report many events in one call. */
export const reportRoutes: readonly AnyRoute[] = [
  { method: EngineService.method.report, takes: 'batches', open: report },
  // Events are authorized one by one, because checking a whole batch at once would delay all other calls.
  { ...bytesRoute(EngineService.method.reportBatch, reportBatch), large: { aboveBytes: 0, handle: reportBatch } },
];
