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
 * Reads the creation of an execution.
 *
 * @returns `undefined` when there is no such execution.
 */
export const readCreation = async (log: Log, id: ExecutionId): Promise<Creation | undefined> => {
  // One event at a time: it is the first of the stream, or follows only `ExecutionVoided` events, of any number.
  for (let from = 0n; ; from += 1n) {
    const recorded = await eventAt(log, executionStream(id), from);
    if (recorded === undefined) return undefined;
    const { type, data } = decodeEvent(executionCodec, recorded);
    if (type === 'ExecutionCreated') return { created: data, atMs: recordedMetadata(recorded).recordedAtMs };
    if (type !== 'ExecutionVoided') return undefined;
  }
};
