import { addAbortSignal, type Readable } from 'node:stream';
import { GetObjectCommand, HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { EngineDataUnusable } from '../../kernel/fault.js';
import type { EngineData, ReserveMemory } from '../../kernel/ports/engine-data.js';
import { fromS3, s3Client, type S3Location } from '../s3-client.js';

/** Time limit of reading the body of one object, in milliseconds. */
const READ_MS = 20_000;

type Store = { readonly location: S3Location; readonly client: S3Client };

/** The key of an address in a bucket, where it begins with the prefix of the location; `undefined` otherwise. */
const keyIn = ({ bucket, prefix }: S3Location, address: string): string | undefined => {
  const base = `s3://${bucket}/`;
  if (!address.startsWith(`${base}${prefix}`)) return undefined;
  const key = address.slice(base.length);
  const canLeave = key.split('/').some((part) => part === '.' || part === '..'); // a store of files may follow them
  return canLeave ? undefined : key;
};

/** Collects a body of at most `size` bytes. */
const collect = async (body: Readable, size: number): Promise<Uint8Array> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > size) throw new Error('it has grown meanwhile');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const readObject = async (
  { location: { bucket: Bucket }, client }: Store,
  Key: string,
  { maxBytes, reserveMemory }: { readonly maxBytes: number; readonly reserveMemory: ReserveMemory },
): Promise<Uint8Array> => {
  const address = `s3://${Bucket}/${Key}`;
  const missing = (): never => {
    throw new EngineDataUnusable(`${address} is missing`);
  };
  const fetched = <Result>(work: () => Promise<Result>): Promise<Result> =>
    fromS3(`${address} cannot be read`, work).then((found) => found ?? missing());

  const { ContentLength: size = 0 } = await fetched(() => client.send(new HeadObjectCommand({ Bucket, Key })));
  if (size > maxBytes) throw new EngineDataUnusable(`${address} has ${size} bytes; at most ${maxBytes} are read`);
  await reserveMemory(size);
  const { Body } = await fetched(() => client.send(new GetObjectCommand({ Bucket, Key })));
  const body = addAbortSignal(AbortSignal.timeout(READ_MS), Body as Readable);
  return fetched(() => collect(body, size));
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
