import type { EntityName } from '../../services/kernel/entity-name.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import type { Call } from '../../services/kernel/rpc.js';
import { namedEntityStream } from '../../services/named-entity/events.js';
import type { Freshness } from '../query/freshness.js';
import type { ReadStore } from '../runtime/read-store.js';
import { namedEntityCollection } from './columns.js';

export type RegisteredNamesOptions = {
  readonly log: Pick<EventLog, 'head'>;
  readonly store: ReadStore;
  readonly freshness: Freshness;
};

/** A read of ours that must see a position. */
const seeing = (minPosition: bigint): Call => ({
  principal: '',
  requestId: '',
  minPosition,
  isCancelled: () => false,
  answeredAt: () => undefined,
});

/**
 * Whether any version of a name is registered. There is a stream for each version, so that no one stream says; the
 * view does, and a no is given only once it has passed what was the head of the log when it was asked.
 */
export const registeredNames = ({
  log,
  store,
  freshness,
}: RegisteredNamesOptions): { has(entity: EntityName): Promise<boolean> } => ({
  has: async (entity) => {
    const stream = namedEntityStream(entity);
    const isThere = async (): Promise<boolean> => (await store.get(namedEntityCollection, stream)) !== undefined;
    if (await isThere()) return true; // what was registered stays
    await freshness.waitForPrefix(seeing(await log.head()), stream);
    return isThere();
  },
});
