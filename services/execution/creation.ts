import type { ExecutionCreated } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { decodeEvent, recordedMetadata } from '../kernel/decode-event.js';
import type { RecordedEvent } from '../kernel/event.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import type { StreamName } from '../kernel/stream.js';
import { executionCodec } from './events.js';
import { executionStream, type ExecutionId } from '../kernel/execution-id.js';

type Log = Pick<EventLog, 'readStream'>;

/** The `ExecutionCreated` event of an execution, and when it was recorded, in milliseconds since 1970. */
export type Creation = { readonly created: ExecutionCreated; readonly atMs: number };

const eventAt = async (log: Log, stream: StreamName, from: bigint): Promise<RecordedEvent | undefined> => {
  for await (const [event] of log.readStream(stream, { from, limit: 1 })) if (event !== undefined) return event;
  return undefined;
};

/**
 * Finds the `ExecutionCreated` event of an execution; `undefined` when there is no such execution. A stream may begin
 * with any number of `ExecutionVoided` events, of attempts that were not in time, and may have no others.
 */
const createdEvent = async (log: Log, id: ExecutionId): Promise<RecordedEvent | undefined> => {
  for (let from = 0n; ; from += 1n) {
    const recorded = await eventAt(log, executionStream(id), from);
    if (recorded?.type !== 'ExecutionVoided') return recorded?.type === 'ExecutionCreated' ? recorded : undefined;
  }
};

/** Reads from the log, without decoding events, whether an execution exists. */
export const executionExists = async (log: Log, id: ExecutionId): Promise<boolean> =>
  (await createdEvent(log, id)) !== undefined;

/**
 * Reads the creation of an execution.
 *
 * @returns `undefined` when there is no such execution.
 * @throws {StreamParked} when the event cannot be decoded.
 */
export const readCreation = async (log: Log, id: ExecutionId): Promise<Creation | undefined> => {
  const recorded = await createdEvent(log, id);
  if (recorded === undefined) return undefined;
  const event = decodeEvent(executionCodec, recorded);
  if (event.type !== 'ExecutionCreated') return undefined;
  return { created: event.data, atMs: recordedMetadata(recorded).recordedAtMs };
};
