import {
  GetObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { assertBucket, callS3, fromS3, s3Client, type S3Location } from '../s3-client.js';
import { type ExclusiveObject, inUse, type ObjectTarget } from './object-target.js';

/** A stored version of an object. */
type Version = { readonly bytes: Uint8Array; readonly tag: string };

/** An object in a bucket; `shown` names it in messages. */
type ObjectAddress = {
  readonly client: S3Client;
  readonly Bucket: string;
  readonly Key: string;
  readonly shown: string;
};

const versionOf = ({ client, Bucket, Key, shown }: ObjectAddress): Promise<Version | undefined> =>
  fromS3(`${shown} cannot be read`, async () => {
    const { Body, ETag: tag = '' } = await client.send(new GetObjectCommand({ Bucket, Key }));
    return { bytes: (await Body?.transformToByteArray()) ?? new Uint8Array(), tag };
  });

const CONFLICTS: ReadonlySet<number | undefined> = new Set([409, 412]);

/** True when the object is of another version than the condition of a write says, or was deleted. */
const isConflict = (error: unknown): boolean =>
  error instanceof S3ServiceException && (CONFLICTS.has(error.$metadata.httpStatusCode) || error.name === 'NoSuchKey');

/** @returns the tag of the new version; `undefined` when the object is no longer of the version `tag`. */
const putAfter = (
  { client, Bucket, Key, shown }: ObjectAddress,
  Body: Uint8Array,
  tag: string | undefined,
): Promise<string | undefined> => {
  const condition = tag === undefined ? { IfNoneMatch: '*' } : { IfMatch: tag };
  return callS3(`${shown} cannot be written`, async () => {
    try {
      return (await client.send(new PutObjectCommand({ Bucket, Key, Body, ...condition }))).ETag;
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  });
};

const exclusiveObject = async (address: ObjectAddress, conflict: () => Error): Promise<ExclusiveObject> => {
  const before = await versionOf(address);
  let tag = before?.tag;
  return {
    before: before?.bytes,
    replace: async (bytes) => {
      let next = await putAfter(address, bytes, tag);
      if (next === undefined) {
        // The client may have sent the request twice, and then the first one is the conflict of the second.
        const found = await versionOf(address);
        if (found === undefined || !Buffer.from(found.bytes).equals(bytes)) throw conflict();
        next = found.tag;
      }
      tag = next;
    },
  };
};

/**
 * Keeps objects in a bucket, below the prefix of the location. `purpose` is the first word of messages, such as
 * `backup`.
 *
 * @throws {StoreUnavailable} when the bucket cannot be used.
 */
export const s3Target = async (location: S3Location, purpose: string): Promise<ObjectTarget> => {
  const { bucket: Bucket, prefix } = location;
  const client = s3Client(location, { requestMs: 60_000 });
  await assertBucket(client, location, purpose);
  const shown = `s3://${Bucket}/${prefix}`;
  const objectAt = (path: string): ObjectAddress => ({
    client,
    Bucket,
    Key: `${prefix}${path}`,
    shown: `${purpose} ${shown}${path}`,
  });
  return {
    shown,
    sizes: async () => {
      const sizes = new Map<string, number>();
      await callS3(`${purpose} ${shown} cannot be listed`, async () => {
        for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix: prefix }))
          for (const { Key = '', Size = 0 } of Contents) sizes.set(Key.slice(prefix.length), Size);
      });
      return sizes;
    },
    read: async (path) => (await versionOf(objectAt(path)))?.bytes,
    write: async (path, Body) => {
      const put = new PutObjectCommand({ Bucket, Key: `${prefix}${path}`, Body });
      await callS3(`${purpose} ${shown}${path} cannot be written`, () => client.send(put));
    },
    openExclusively: (path) => exclusiveObject(objectAt(path), () => inUse(purpose, shown)),
    close: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
};
