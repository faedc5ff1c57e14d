import type { EventCodec } from '../../services/kernel/aggregate.js';
import { metadataOf } from '../../services/kernel/event.js';
import type { EventLog } from '../../services/kernel/event-store.js';
import { Fault } from '../../services/kernel/fault.js';
import type { PayloadStore } from '../../services/kernel/payload-store.js';
import type { Call } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';

/** Where reads find what is too large for a view. */
export type Past = {
  readonly log: EventLog;
  readonly payloads: PayloadStore;
  /** Says to the operator what could not be read, and why. */
  readonly warn: (message: string, cause: unknown) => void;
};

/** The same for one call: what is fetched from the payloads waits until the transport has room for it. */
export const pastFor = (past: Past, { makeRoom }: Call): Past =>
  makeRoom === undefined
    ? past
    : {
        ...past,
        payloads: {
          ...past.payloads,
          get: async (ref) => {
            await makeRoom(Number(ref.sizeBytes));
            return past.payloads.get(ref);
          },
        },
      };

/** The event at a revision of a stream; `undefined` when there is none. */
export const eventAt = async <Event>(
  { log }: Past,
  codec: EventCodec<Event>,
  stream: StreamName,
  revision: bigint,
): Promise<Event | undefined> => {
  for await (const [event] of log.readStream(stream, { from: revision, limit: 1 })) {
    if (event !== undefined) return codec.decode(event.type, event.data, metadataOf(event).schema);
  }
  return undefined;
};

/** What a read answers; unset, and said to the operator, when the machinery fails: content is never invented. */
export const unlessUnreadable = async <Value>(
  { warn }: Past,
  what: string,
  read: () => Promise<Value | undefined>,
): Promise<Value | undefined> => {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    warn(`cannot read ${what}`, error);
    return undefined;
  }
};
