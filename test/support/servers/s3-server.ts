import { randomUUID } from 'node:crypto';
import { BucketAlreadyOwnedByYou, CreateBucketCommand } from '@aws-sdk/client-s3';
import { payloadLocation } from '../../../services/store/payloads/payload-location.js';
import { s3Client, type S3Location } from '../../../services/store/s3-client.js';

/** The object store that tests may use; without it, the tests that need one are skipped. */
export const s3Url = process.env['FLIGHTLOG_TEST_S3_URL'];

/** True when the object store refuses requests with a wrong signature. */
export const checksSignatures = process.env['FLIGHTLOG_TEST_S3_SIGNATURES'] === '1';

/** The location of a new prefix in the test bucket, which no other test uses. */
export const newS3Location = (): S3Location => {
  const location = payloadLocation(s3Url ?? 's3://none');
  if (typeof location === 'string' || location.kind !== 's3') throw new Error(`FLIGHTLOG_TEST_S3_URL: ${s3Url}`);
  return { ...location, prefix: `${location.prefix}${randomUUID()}/` };
};

/** The location as the setting `payload_store` has it. */
export const s3Setting = ({ bucket, prefix, endpoint, region }: S3Location): string => {
  const parameters = new URLSearchParams({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
  });
  return `s3://${bucket}/${prefix}?${parameters.toString()}`;
};

/** Creates the test bucket if it does not exist. */
export const makeBucket = async (): Promise<void> => {
  const location = newS3Location();
  const client = s3Client(location);
  await client.send(new CreateBucketCommand({ Bucket: location.bucket })).catch((error: unknown) => {
    if (!(error instanceof BucketAlreadyOwnedByYou)) throw error;
  });
  client.destroy();
};
