import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { EngineDataUnusable } from '../../kernel/fault.js';
import type { EngineData, ReserveMemory } from '../../kernel/ports/engine-data.js';
import { fromS3, s3Client, type S3Location } from '../s3-client.js';

type Store = { readonly location: S3Location; readonly client: S3Client };

/** The key of an address in a bucket, where it begins with the prefix of the location; `undefined` otherwise. */
const keyIn = ({ bucket, prefix }: S3Location, address: string): string | undefined => {
  const base = `s3://${bucket}/`;
  if (!address.startsWith(`${base}${prefix}`)) return undefined;
  return address.slice(base.length);
};

const readObject = async (
  { location: { bucket: Bucket }, client }: Store,
  Key: string,
  { maxBytes, reserveMemory }: { readonly maxBytes: number; readonly reserveMemory: ReserveMemory },
): Promise<Uint8Array> => {
  const address = `s3://${Bucket}/${Key}`;
  const failure = `${address} cannot be read`;
  const { Body, ContentLength = 0 } =
    (await fromS3(failure, () => client.send(new GetObjectCommand({ Bucket, Key })))) ?? {};
  if (Body === undefined) throw new EngineDataUnusable(`${address} is missing`);
  const discard = (): void => (Body as { destroy?: () => void }).destroy?.();
  if (ContentLength > maxBytes) {
    discard();
    throw new EngineDataUnusable(`${address} has ${ContentLength} bytes; at most ${maxBytes} are read`);
  }
  await reserveMemory(ContentLength).catch((error: unknown) => {
    discard();
    throw error;
  });
  return (await fromS3(failure, () => Body.transformToByteArray())) ?? new Uint8Array();
};

/** Reads what engines have stored in buckets: only objects whose keys begin with the prefix of a location. */
export const s3EngineData = (locations: readonly S3Location[], maxBytes: number): EngineData => {
  const stores = locations.map((location) => ({ location, client: s3Client(location) }));
  return {
    read: async (address, reserveMemory) => {
      for (const store of stores) {
        const key = keyIn(store.location, address);
        if (key !== undefined) return readObject(store, key, { maxBytes, reserveMemory });
      }
      return undefined;
    },
    close: () => {
      for (const { client } of stores) client.destroy();
      return Promise.resolve();
    },
  };
};
