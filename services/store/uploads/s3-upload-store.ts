import {
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { uploadAt, uploadPath, type UploadKey, type UploadStore } from '../../kernel/ports/uploads.js';
import { fromS3, s3Client, type S3Location } from '../s3-client.js';
import { linking, presigned } from './s3-presigned.js';

/** Metadata key under which Flyte's clients store the MD5. */
const MD5_NOTE = 'flytecontentmd5';

/**
 * True when an object has this MD5: by its metadata if present, otherwise by the ETag, which is the MD5 after a simple
 * PUT unless KMS encrypts the object.
 */
const hasMd5 = ({ Metadata, ETag = '' }: HeadObjectCommandOutput, md5: Buffer): boolean => {
  const noted = Metadata?.[MD5_NOTE];
  return noted === undefined ? ETag.replaceAll('"', '') === md5.toString('hex') : noted === md5.toString('base64');
};

/**
 * Keeps uploads as objects of a bucket, below its prefix. Clients put and get them there directly, through links that
 * the object store checks. A link can limit the size only to an exact number of bytes, which clients do not state in
 * advance: a file that is too large is detected when it is looked up.
 */
export const s3UploadStore = (
  { location, maxBytes }: { readonly location: S3Location; readonly maxBytes: number },
  client: S3Client = s3Client(location),
): UploadStore => {
  const { bucket: Bucket, prefix } = location;
  const linker = linking(s3Client(location));
  const base = `s3://${Bucket}/${prefix}`;
  const objectOf = (key: UploadKey) => ({ Bucket, Key: `${prefix}${uploadPath(key)}` });

  return {
    nativeUrl: (key) => `${base}${uploadPath(key)}`,
    keyOf: (nativeUrl) => (nativeUrl.startsWith(base) ? uploadAt(nativeUrl.slice(base.length)) : undefined),
    find: async (key) => {
      const object = objectOf(key);
      const headObject = () => client.send(new HeadObjectCommand(object));
      const found = await fromS3(`upload ${object.Key} cannot be looked up`, headObject);
      return (
        found && {
          isTooLarge: (found.ContentLength ?? 0) > maxBytes,
          hasMd5: (md5) => Promise.resolve(hasMd5(found, Buffer.from(md5))),
        }
      );
    },
    linkToPut: async (key, { md5, notesMd5, expiresInSeconds }) => {
      const base64 = md5 && Buffer.from(md5).toString('base64');
      const command = new PutObjectCommand({
        ...objectOf(key),
        ...(base64 !== undefined && { ContentMD5: base64 }),
        ...(base64 !== undefined && notesMd5 && { Metadata: { [MD5_NOTE]: base64 } }),
      });
      const headers = base64 === undefined ? {} : { 'Content-MD5': base64 };
      const note = notesMd5 && base64 !== undefined ? { [`x-amz-meta-${MD5_NOTE}`]: base64 } : {};
      return { url: await presigned(linker, linker.send(command), expiresInSeconds), headers: { ...headers, ...note } };
    },
    linkToGet: (key, expiresInSeconds) =>
      presigned(linker, linker.send(new GetObjectCommand(objectOf(key))), expiresInSeconds),
  };
};
