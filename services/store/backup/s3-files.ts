import { Readable } from 'node:stream';
import { GetObjectCommand, HeadObjectCommand, paginateListObjectsV2, PutObjectCommand } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '../../kernel/fault.js';
import { uploadAt } from '../../kernel/ports/uploads.js';
import { callS3, fromS3, s3Client, type S3Location } from '../s3-client.js';
import { type BackupFiles, CHUNK_BYTES, type FoundFile, UPLOADS } from './backup-files.js';
import type { BackedUpFile } from './manifest.js';

/** Time limit of one attempt of a request, in milliseconds: a restore writes a whole upload in one request. */
const REQUEST_MS = 10 * 60_000;

/** The uploads of a bucket; `version` is the ETag, and an upload that changes while it is read ends the backup. */
export const s3Files = (location: S3Location): BackupFiles => {
  const { bucket: Bucket, prefix } = location;
  const client = s3Client(location, { requestMs: REQUEST_MS });
  const keyOf = (path: string): string => `${prefix}${path.slice(UPLOADS.length)}`;

  const chunk = async (Key: string, from: number, version?: string): Promise<Uint8Array> => {
    const Range = `bytes=${from}-${from + CHUNK_BYTES - 1}`;
    const object = { Bucket, Key, Range, ...(version !== undefined && { IfMatch: version }) };
    const bytes = await fromS3(`upload ${Key} cannot be read`, async () =>
      (await client.send(new GetObjectCommand(object))).Body?.transformToByteArray(),
    );
    if (bytes === undefined) throw new StoreUnavailable(`upload ${Key} was removed while it was backed up`);
    return bytes;
  };

  const list = async function* (area: string): AsyncGenerator<[string, FoundFile]> {
    for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: `${prefix}${area}` }))
      for (const { Key = '', Size = 0, ETag } of page.Contents ?? []) {
        const path = Key.slice(prefix.length);
        const file = { sizeBytes: Size, ...(ETag !== undefined && { version: ETag }) };
        if (uploadAt(path)) yield [`${UPLOADS}${path}`, file];
      }
  };

  return {
    find: async () => {
      const found = new Map<string, FoundFile>();
      await callS3(`uploads of s3://${Bucket}/${prefix} cannot be listed`, async () => {
        for (const area of ['uploads/', 'orgs/']) for await (const file of list(area)) found.set(...file);
      });
      return found;
    },
    async *chunks(path, { sizeBytes, version }) {
      for (let from = 0; from < sizeBytes; from += CHUNK_BYTES) yield chunk(keyOf(path), from, version);
    },
    close: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
};

/** Puts uploads of a backup into a bucket. */
export type UploadRestorer = {
  /**
   * Puts an upload, unless the bucket has it already.
   *
   * @throws {StoreUnavailable} when the bucket cannot be used; errors of `content` as they are.
   */
  restore(file: BackedUpFile, content: AsyncIterable<Uint8Array>): Promise<void>;
  close(): void;
};

/**
 * Sends a content in one request, which an error of the content ends: the SDK itself would wait for the rest of the
 * body without end.
 *
 * @throws the error of the content as it is; otherwise the error of the request.
 */
const sendStream = async (
  content: AsyncIterable<Uint8Array>,
  send: (body: Readable, signal: AbortSignal) => Promise<unknown>,
): Promise<void> => {
  const ending = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const noted = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* content;
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  const body = Readable.from(noted()).on('error', () => ending.abort());
  try {
    await send(body, ending.signal);
  } catch (error) {
    throw failure ? failure.error : error;
  }
};

/** Writes each upload in one PUT, so that its ETag is its MD5 again, which CreateUploadLocation compares. */
export const s3UploadRestorer = (location: S3Location): UploadRestorer => {
  const { bucket: Bucket, prefix } = location;
  const client = s3Client(location, { requestMs: REQUEST_MS, attempts: 1 }); // a stream cannot be sent twice
  return {
    restore: async ({ path, sizeBytes: ContentLength }, content) => {
      const object = { Bucket, Key: `${prefix}${path.slice(UPLOADS.length)}` };
      const failureText = `upload ${object.Key} cannot be restored`;
      if (await fromS3(failureText, () => client.send(new HeadObjectCommand(object)))) return;
      await sendStream(content, (Body, abortSignal) => {
        const put = new PutObjectCommand({ ...object, ContentLength, Body });
        return callS3(failureText, () => client.send(put, { abortSignal }));
      });
    },
    close: () => client.destroy(),
  };
};
