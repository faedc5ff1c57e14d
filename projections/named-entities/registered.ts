import type { EntityName } from '../../services/kernel/values/entity-name.js';
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

/** An internal call whose reads must see a position. */
const seeing = (minPosition: bigint): Call => ({
  principal: '',
  requestId: '',
  minPosition,
  isCancelled: () => false,
  answeredAt: () => undefined,
});

/**
 * Checks that at least one version of a name is registered. Each version may have its own stream, so the view has to be
 * asked: `false` is returned only when the view has reached the position that was the head of the log at the time of
 * the call.
 *
 * @throws {RpcError} UNAVAILABLE from `has`, when the view has not reached it in time.
 */
export const registeredNames = ({
  log,
  store,
  freshness,
}: RegisteredNamesOptions): { has(entity: EntityName): Promise<boolean> } => ({
  has: async (entity) => {
    const stream = namedEntityStream(entity);
    const isThere = async (): Promise<boolean> => (await store.get(namedEntityCollection, stream)) !== undefined;
    if (await isThere()) return true; // registrations are permanent
    await freshness.waitForPrefix(seeing(await log.head()), stream, namedEntityCollection);
    return isThere();
  },
});
