import { HeadBucketCommand, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { StoreUnavailable } from '../kernel/fault.js';
import type { PayloadLocation } from './payloads/payload-location.js';

/** A bucket, with an optional prefix of its keys, endpoint and region. */
export type S3Location = Extract<PayloadLocation, { readonly kind: 's3' }>;

const CONNECT_MS = 2_000;
/** The default `requestMs`; a payload has at most some tens of megabytes. */
const REQUEST_MS = 10_000;
const ATTEMPTS = 3;
const MAX_SOCKETS = 64;

/** The default region with an endpoint: every request is signed for one. */
const ANY_REGION = 'us-east-1';

/**
 * The time in milliseconds until the answer to one attempt must have begun, which is also the longest pause in its
 * body, and the maximum number of attempts.
 */
export type S3Retries = { readonly requestMs?: number; readonly attempts?: number };

/** Opens an S3 client; credentials come from the SDK's default sources. The caller must destroy the client. */
export const s3Client = (
  { endpoint, region = endpoint === undefined ? undefined : ANY_REGION }: S3Location,
  { requestMs = REQUEST_MS, attempts = ATTEMPTS }: S3Retries = {},
): S3Client =>
  new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    maxAttempts: attempts,
    // Contents are hashed anyway, and a checksum that the SDK adds would be part of every presigned URL.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: requestMs,
      socketTimeout: requestMs, // of a body that stalls
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: MAX_SOCKETS },
      httpsAgent: { maxSockets: MAX_SOCKETS },
    },
  });

const NOT_FOUND = 404;

/** True for the status 404, unless the answer says that the bucket does not exist. */
const isMissing = (error: unknown): boolean =>
  error instanceof S3ServiceException && error.$metadata.httpStatusCode === NOT_FOUND && error.name !== 'NoSuchBucket';

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.message && error.message !== 'UnknownError' ? error.message : error.name;
};

/**
 * Runs a request, and converts its errors. The status 404 is one of them: a proxy may answer so while it does not reach
 * the object store, and then nothing was written or listed.
 *
 * @param failureText says what cannot be done if the request fails, such as `payload a/b cannot be stored`.
 * @throws {StoreUnavailable} for every error.
 */
export const callS3 = async <Result>(failureText: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw new StoreUnavailable(`${failureText}: ${reasonOf(error)}`, error);
  }
};

/**
 * Runs a request for an object that may not exist, and converts its errors.
 *
 * @param failureText as in {@link callS3}.
 * @returns `undefined` for the status 404, unless the answer says that the bucket does not exist.
 * @throws {StoreUnavailable} for all other errors.
 */
export const fromS3 = <Result>(failureText: string, work: () => Promise<Result>): Promise<Result | undefined> =>
  callS3(failureText, () =>
    work().catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    }),
  );

/**
 * Checks that the bucket exists and is accessible. A missing bucket is an `undefined` result here: the answer to a HEAD
 * request has no body that could name the error `NoSuchBucket`, only the status 404.
 *
 * @param purpose begins the messages, such as `payload store`.
 * @throws {StoreUnavailable} with the bucket, its endpoint and the reason.
 */
export const assertBucket = async (
  client: S3Client,
  { bucket, endpoint }: S3Location,
  purpose: string,
): Promise<void> => {
  const where = `${purpose} s3://${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
  const found = await fromS3(`${where} cannot be reached`, () =>
    client.send(new HeadBucketCommand({ Bucket: bucket })),
  );
  if (found === undefined) throw new StoreUnavailable(`${where} cannot be used: there is no such bucket`);
};
