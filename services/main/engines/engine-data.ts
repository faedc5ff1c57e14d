import type { Configuration } from '../../config/configuration.js';
import type { EngineData } from '../../kernel/ports/engine-data.js';
import type { S3Location } from '../../store/s3-client.js';

/**
 * The buckets in which engines store inputs and outputs, and the largest object that is read, in bytes; it can be sent
 * to any thread.
 */
export type EngineDataSource = { readonly locations: readonly S3Location[]; readonly maxBytes: number };

/** The source that the settings name. An object that is larger than a request may be is not read. */
export const engineStoresOf = ({
  data_proxy: { engine_stores: locations },
  max_message_bytes: maxBytes,
}: Configuration): EngineDataSource => ({ locations, maxBytes });

/** The data of engines in a process without stores of engines: a read finds nothing. */
export const noEngineData: EngineData = { read: () => Promise.resolve(undefined), close: () => Promise.resolve() };

/** Opens the stores of engines. The client of an object store is loaded only where one is used. */
export const openEngineData = async ({ locations, maxBytes }: EngineDataSource): Promise<EngineData> => {
  if (locations.length === 0) return noEngineData;
  const { s3EngineData } = await import('../../store/engine-data/s3-engine-data.js');
  return s3EngineData(locations, maxBytes);
};
