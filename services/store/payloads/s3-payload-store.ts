import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { PayloadStore } from '../../kernel/ports/payload-store.js';
import { contentHash, verifiedBytes } from './content-hash.js';
import { failPoint } from '../fail-point.js';
import { payloadPath, quarantinePrefix } from './object-name.js';
import { assertBucket, callS3, fromS3, s3Client, type S3Location } from '../s3-client.js';

/** A payload store with a check for use at the start. */
export type S3PayloadStore = PayloadStore & {
  /** @throws {StoreUnavailable} when the bucket cannot be used, with its name and the reason. */
  check(): Promise<void>;
};

/** Prefix of payload objects, below the prefix of the location. */
export const PAYLOADS = 'payloads/';

/**
 * Keeps payloads as objects of a bucket, `<prefix>payloads/<scope>/<aa>/<sha256>`. Any number of processes may write:
 * an object is either complete or absent, and the same name has the same content.
 */
export const s3PayloadStore = (location: S3Location, client: S3Client = s3Client(location)): S3PayloadStore => {
  const { bucket: Bucket, prefix } = location;
  const keyOf = (scope: string, sha256: string): string => `${prefix}${PAYLOADS}${payloadPath(scope, sha256)}`;

  const read = (Key: string): Promise<Uint8Array | undefined> =>
    fromS3(`payload ${Key} cannot be read`, async () => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return Body?.transformToByteArray();
    });

  /** Reads an object that the cleanup has quarantined or is restoring, or that it restored just now. */
  const readQuarantined = async (key: string): Promise<Uint8Array | undefined> => {
    const list = new ListObjectsV2Command({ Bucket, Prefix: quarantinePrefix(key), MaxKeys: 1 });
    const { Contents } = await callS3(`payload ${key} cannot be looked for`, () => client.send(list));
    const quarantined = Contents?.[0]?.Key;
    return (quarantined === undefined ? undefined : await read(quarantined)) ?? read(key);
  };

  return {
    check: () => assertBucket(client, location, 'payload store'),
    put: async (scope, bytes) => {
      const sha256 = await contentHash(bytes);
      const Key = keyOf(scope, sha256);
      const put = new PutObjectCommand({ Bucket, Key, Body: bytes });
      await callS3(`payload ${Key} cannot be stored`, () => client.send(put));
      failPoint('after-payload');
      return { scope, sha256, sizeBytes: BigInt(bytes.length), keyId: '' };
    },
    get: async ({ scope, sha256 }) => {
      const Key = keyOf(scope, sha256);
      const bytes = (await read(Key)) ?? (await readQuarantined(Key));
      return bytes && verifiedBytes(payloadPath(scope, sha256), sha256, bytes);
    },
    close: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
};
