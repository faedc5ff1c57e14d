import { fromBinary } from '@bufbuild/protobuf';
import { type LiteralMap, LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { EventCodec } from '../../services/kernel/aggregate.js';
import { schemaOf } from '../../services/kernel/event.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { EngineDataUnusable, Fault } from '../../services/kernel/fault.js';
import type { EngineData, ReserveMemory } from '../../services/kernel/ports/engine-data.js';
import type { PayloadStore } from '../../services/kernel/ports/payload-store.js';
import type { Call } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';

/** Sources of contents that are too large for a view. */
export type RecordedContents = {
  readonly log: EventLog;
  readonly payloads: PayloadStore;
  readonly engineData: EngineData;
  /** Logs to the operator what could not be read, and why. */
  readonly warn: (message: string, cause: unknown) => void;
};

/** The sources for one call, whose answer reports what could not be read. */
export type CallContents = RecordedContents & Pick<Call, 'unread' | 'reserveMemory'>;

const reservingMemory = (payloads: PayloadStore, reserveMemory: ReserveMemory): PayloadStore => ({
  ...payloads,
  get: async (ref) => {
    await reserveMemory(Number(ref.sizeBytes));
    return payloads.get(ref);
  },
});

/** The sources for one call: before a payload is fetched, the call waits until the transport has memory for it. */
export const contentsFor = (contents: RecordedContents, { reserveMemory, unread }: Call): CallContents => ({
  ...contents,
  ...(reserveMemory && { reserveMemory, payloads: reservingMemory(contents.payloads, reserveMemory) }),
  ...(unread && { unread }),
});

/** The event at a revision of a stream; `undefined` when there is none. */
export const eventAt = async <Event>(
  { log }: RecordedContents,
  codec: EventCodec<Event>,
  stream: StreamName,
  revision: bigint,
): Promise<Event | undefined> => {
  for await (const [event] of log.readStream(stream, { from: revision, limit: 1 })) {
    if (event !== undefined) return codec.decode(event.type, event.data, schemaOf(event));
  }
  return undefined;
};

const unbounded: ReserveMemory = () => Promise.resolve();

/**
 * Reads the map that an engine has stored itself, and reported by its address; `undefined` for an address that is in
 * none of the configured stores.
 *
 * @throws {EngineDataUnusable} when there is no map at the address, or it is too large.
 * @throws {StoreUnavailable} when it could not be read.
 */
export const literalsAt = async (
  { engineData, reserveMemory = unbounded }: CallContents,
  address: string,
): Promise<LiteralMap | undefined> => {
  const bytes = await engineData.read(address, reserveMemory);
  if (bytes === undefined) return undefined;
  try {
    return fromBinary(LiteralMapSchema, bytes);
  } catch (cause) {
    throw new EngineDataUnusable(`${address} is no map of literals`, cause);
  }
};

/**
 * Reads the content of a field of the answer. After a {@link Fault}, the field stays unset and the fault is reported to
 * the caller and the operator: content is never invented. Other errors are thrown.
 */
export const unlessUnreadable = async <Value>(
  { warn, unread }: CallContents,
  { field, entity }: { readonly field: string; readonly entity: string },
  read: () => Promise<Value | undefined>,
): Promise<Value | undefined> => {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    warn(`cannot read ${field} of ${entity}`, error);
    unread?.(field, error);
    return undefined;
  }
};
