import { HeadBucketCommand, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '../kernel/fault.js';
import type { PayloadLocation } from './payloads/payload-location.js';

/** A bucket, or a part of one. */
export type S3Location = Extract<PayloadLocation, { readonly kind: 's3' }>;

const CONNECT_MS = 2_000;
/** For the whole of one attempt; a payload has at most some tens of megabytes. */
const REQUEST_MS = 10_000;
const ATTEMPTS = 3;
const MAX_SOCKETS = 64;

/** Other servers than Amazon's have no regions, but every request is signed for one. */
const ANY_REGION = 'us-east-1';

/** How long a request is waited for, and how often it is tried. */
export type Patience = { readonly requestMs?: number; readonly attempts?: number };

/** A client of a bucket; credentials come from where the SDK finds them. Who opens it destroys it. */
export const s3Client = (
  { endpoint, region = endpoint === undefined ? undefined : ANY_REGION }: S3Location,
  { requestMs = REQUEST_MS, attempts = ATTEMPTS }: Patience = {},
): S3Client =>
  new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    maxAttempts: attempts,
    // What is read is hashed anyway, and a checksum of the SDK's own would be part of every signed link.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: requestMs,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: MAX_SOCKETS },
      httpsAgent: { maxSockets: MAX_SOCKETS },
    },
  });

const NOT_FOUND = 404;

const isMissing = (error: unknown): boolean =>
  error instanceof S3ServiceException && error.$metadata.httpStatusCode === NOT_FOUND && error.name !== 'NoSuchBucket';

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.message && error.message !== 'UnknownError' ? error.message : error.name;
};

/**
 * Does what a client is asked; `undefined` when the object is not there.
 *
 * @throws {StoreUnavailable} for anything else that goes wrong.
 */
export const fromS3 = async <Result>(what: string, work: () => Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new StoreUnavailable(`${what}: ${reasonOf(error)}`, error);
  }
};

/**
 * Makes sure that the bucket is there and may be used.
 *
 * @throws {StoreUnavailable} saying which bucket, where, and why not.
 */
export const assertBucket = async (client: S3Client, { bucket, endpoint }: S3Location): Promise<void> => {
  const where = `payload store s3://${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
  const found = await fromS3(`${where} cannot be reached`, () =>
    client.send(new HeadBucketCommand({ Bucket: bucket })),
  );
  if (found === undefined) throw new StoreUnavailable(`${where} cannot be used: there is no such bucket`);
};
