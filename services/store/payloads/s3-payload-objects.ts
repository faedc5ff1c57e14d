import {
  CopyObjectCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  type ListObjectsV2CommandOutput,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { PayloadObject, PayloadObjects } from '../../kernel/ports/payload-objects.js';
import { quarantineName, objectNamed } from './object-name.js';
import { failPoint } from '../fail-point.js';
import { callS3, fromS3, s3Client, type S3Location } from '../s3-client.js';
import { PAYLOADS } from './s3-payload-store.js';

type Listed = NonNullable<ListObjectsV2CommandOutput['Contents']>[number];

const objectOf = (base: string, { Key = '', Size = 0, LastModified }: Listed): PayloadObject | undefined => {
  const name = Key.slice(base.length);
  const named = objectNamed(name);
  // An object without a time is treated as new.
  const touchedAtMs = named?.quarantinedAtMs ?? LastModified?.getTime() ?? Number.MAX_SAFE_INTEGER;
  if (!named) return undefined;
  return {
    path: named.path,
    ...(named.quarantinedAtMs !== undefined && { quarantinedAs: name }),
    sizeBytes: Size,
    touchedAtMs,
  };
};

/** Value of the copy-source header. */
const sourceOf = (bucket: string, key: string): string => [bucket, ...key.split('/')].map(encodeURIComponent).join('/');

/**
 * The payload objects of a bucket. An object store deletes unconditionally, and so could delete an object that was put
 * a moment before. An object is therefore first copied to a quarantine name, and that copy is deleted only when it has
 * reached the minimum age. Until then readers find it.
 */
export const s3PayloadObjects = (
  location: S3Location,
  { client = s3Client(location), now = Date.now }: { readonly client?: S3Client; readonly now?: () => number } = {},
): PayloadObjects => {
  const { bucket: Bucket } = location;
  const base = `${location.prefix}${PAYLOADS}`;

  const callCleanup = <Result>(path: string, work: () => Promise<Result>): Promise<Result | undefined> =>
    fromS3(`the cleanup of payload ${base}${path} has failed`, work);

  const copy = async (from: string, to: string): Promise<boolean> => {
    const CopySource = sourceOf(Bucket, `${base}${from}`);
    const copied = await callCleanup(from, () =>
      client.send(new CopyObjectCommand({ Bucket, CopySource, Key: `${base}${to}` })),
    );
    return copied !== undefined;
  };

  const remove = (path: string): Promise<unknown> =>
    callCleanup(path, () => client.send(new DeleteObjectCommand({ Bucket, Key: `${base}${path}` })));

  const wasPutSince = async (path: string, cutoffMs: number): Promise<boolean> => {
    const found = await callCleanup(path, () => client.send(new HeadObjectCommand({ Bucket, Key: `${base}${path}` })));
    return (found?.LastModified?.getTime() ?? Number.MAX_SAFE_INTEGER) >= cutoffMs;
  };

  const drop: PayloadObjects['drop'] = async ({ path, quarantinedAs, touchedAtMs }, cutoffMs) => {
    if (quarantinedAs !== undefined) {
      if (touchedAtMs >= cutoffMs) return 'kept';
      await remove(quarantinedAs);
      return 'removed';
    }
    if ((await wasPutSince(path, cutoffMs)) || !(await copy(path, quarantineName(path, now())))) return 'kept';
    failPoint('payload-quarantined');
    await remove(path);
    return 'quarantined';
  };

  return {
    async *list() {
      const pages = paginateListObjectsV2({ client }, { Bucket, Prefix: base })[Symbol.asyncIterator]();
      for (;;) {
        const next = await callS3(`payloads s3://${Bucket}/${base} cannot be listed`, () => pages.next());
        if (next.done === true) return;
        yield (next.value.Contents ?? []).map((each) => objectOf(base, each)).filter((each) => each !== undefined);
      }
    },
    drop,
    restore: async ({ path, quarantinedAs }) => {
      if (quarantinedAs !== undefined && (await copy(quarantinedAs, path))) await remove(quarantinedAs);
    },
    close: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
};
