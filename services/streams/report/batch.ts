import { type Call, RpcError } from '../../kernel/rpc.js';
import { openInFlight } from './in-flight.js';
import { encodeBatch, encodeResponse, reportedEvents } from './messages.js';

const MAX_EVENTS = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;

const assertTaken = (index: number, bytes: number): void => {
  const tooLarge = (limit: string): RpcError =>
    new RpcError('RESOURCE_EXHAUSTED', `message larger than max: events[${index}] is beyond ${limit} of a batch`);
  if (index >= MAX_EVENTS) throw tooLarge(`the ${MAX_EVENTS} events`);
  if (bytes > MAX_BYTES) throw tooLarge(`the ${MAX_BYTES} bytes`);
};

/**
 * Answers a batch of events, an encoded `ReportBatchRequest`. Records nothing of a batch that is too large or
 * malformed.
 *
 * @returns the encoded `ReportBatchResponse`, with the answers in the order of the events.
 * @throws {RpcError} RESOURCE_EXHAUSTED or INVALID_ARGUMENT naming the first event that is too large or malformed.
 */
export const reportBatch = async (batch: Uint8Array, call: Call): Promise<Uint8Array> => {
  const events = reportedEvents(batch, assertTaken);
  const responses: Uint8Array[] = [];
  const inFlight = openInFlight(call);
  for (const [index, event] of events.entries())
    await inFlight.take(event, (answer) => {
      responses[index] = encodeResponse(event.sequence, answer);
    });
  await inFlight.settled();
  return encodeBatch(responses);
};
