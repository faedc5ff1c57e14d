import { resolve } from 'node:path';
import type { Configuration } from '../config/configuration.js';
import { forSetting } from '../config/operator-errors.js';
import type { PayloadObjects } from '../kernel/ports/payload-objects.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import { filePayloadObjects } from '../store/payloads/file-payload-objects.js';
import { filePayloadStore } from '../store/payloads/file-payload-store.js';
import type { PayloadLocation } from '../store/payloads/payload-location.js';

/** The location of the payloads; it can be sent to any thread. */
export type PayloadSource = { readonly directory: string; readonly location: PayloadLocation };

/**
 * Opens the configured payload store. The client of an object store is loaded only where one is used.
 *
 * @throws {StoreUnavailable} when the store cannot be reached or used.
 */
export const openPayloads = async ({ directory, location }: PayloadSource): Promise<PayloadStore> => {
  if (location.kind === 'file') return filePayloadStore({ directory });
  const { s3PayloadStore } = await import('../store/payloads/s3-payload-store.js');
  const store = s3PayloadStore(location);
  await store.check();
  return store;
};

/**
 * Opens the configured payload store for a command.
 *
 * @throws {OperatorError} when the store cannot be reached or used, naming the setting.
 */
export const openOwnPayloads = ({
  data,
  payload_store: location,
}: Pick<Configuration, 'data' | 'payload_store'>): Promise<PayloadStore> =>
  forSetting('payload_store', () => openPayloads({ directory: resolve(data), location }));

/**
 * Opens the objects of the configured payload store, to delete those that nothing refers to.
 *
 * @throws {StoreUnavailable} when the store cannot be reached or used.
 */
export const openPayloadObjects = async ({ directory, location }: PayloadSource): Promise<PayloadObjects> => {
  if (location.kind === 'file') return filePayloadObjects({ directory });
  await (await openPayloads({ directory, location })).close(); // throws for a bucket that cannot be used
  const { s3PayloadObjects } = await import('../store/payloads/s3-payload-objects.js');
  return s3PayloadObjects(location);
};
