import type { PayloadObjects } from '../kernel/ports/payload-objects.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import { filePayloadObjects } from '../store/payloads/file-payload-objects.js';
import { filePayloadStore } from '../store/payloads/file-payload-store.js';
import type { PayloadLocation } from '../store/payloads/payload-location.js';

/** Which payloads a process, or a thread of it, works with. */
export type PayloadSource = { readonly directory: string; readonly location: PayloadLocation };

/**
 * Opens the payload store of a configuration. The client of an object store is loaded only where one is used.
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
 * Opens the objects of the payload store of a configuration, to tidy them.
 *
 * @throws {StoreUnavailable} when the store cannot be reached or used.
 */
export const openPayloadObjects = async ({ directory, location }: PayloadSource): Promise<PayloadObjects> => {
  if (location.kind === 'file') return filePayloadObjects({ directory });
  await (await openPayloads({ directory, location })).close(); // says which bucket cannot be used, and why
  const { s3PayloadObjects } = await import('../store/payloads/s3-payload-objects.js');
  return s3PayloadObjects(location);
};
