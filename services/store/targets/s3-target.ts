import { GetObjectCommand, paginateListObjectsV2, PutObjectCommand } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '../../kernel/fault.js';
import { assertBucket, fromS3, s3Client, type S3Location } from '../s3-client.js';
import type { ObjectTarget } from './object-target.js';

/**
 * Keeps objects in a bucket, below the prefix of the location. `purpose` is the first word of messages, such as `backup`.
 *
 * @throws {StoreUnavailable} when the bucket cannot be used.
 */
export const s3Target = async (location: S3Location, purpose: string): Promise<ObjectTarget> => {
  const { bucket: Bucket, prefix } = location;
  const client = s3Client(location, { requestMs: 60_000 });
  await assertBucket(client, location);
  const shown = `s3://${Bucket}/${prefix}`;
  return {
    shown,
    sizes: async () => {
      const sizes = new Map<string, number>();
      await fromS3(`${purpose} ${shown} cannot be listed`, async () => {
        for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix: prefix }))
          for (const { Key = '', Size = 0 } of Contents) sizes.set(Key.slice(prefix.length), Size);
      });
      return sizes;
    },
    read: (path) =>
      fromS3(`${purpose} ${shown}${path} cannot be read`, async () => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: `${prefix}${path}` }));
        return Body?.transformToByteArray();
      }),
    write: async (path, Body) => {
      const put = new PutObjectCommand({ Bucket, Key: `${prefix}${path}`, Body });
      const written = await fromS3(`${purpose} ${shown}${path} cannot be written`, () => client.send(put));
      if (written === undefined) throw new StoreUnavailable(`${purpose} ${shown}${path} cannot be written`);
    },
    close: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
};
