import { describe, expect, it } from 'vitest';
import { payloadLocation } from '../../../services/store/payloads/payload-location.js';

describe('the location of payloads', () => {
  it.each([
    ['file:', { kind: 'file' }],
    ['s3://bucket', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/a/b', { kind: 's3', bucket: 'bucket', prefix: 'a/b/' }],
    ['s3://bucket//a/?region=eu-west-1', { kind: 's3', bucket: 'bucket', prefix: 'a/', region: 'eu-west-1' }],
    [
      's3://bucket?endpoint=http://127.0.0.1:9000',
      { kind: 's3', bucket: 'bucket', prefix: '', endpoint: 'http://127.0.0.1:9000' },
    ],
  ])('may be %s', (text, location) => {
    expect(payloadLocation(text)).toEqual(location);
  });

  it.each([
    ['', 'must be file: or s3:'],
    ['bucket', 'must be file: or s3:'],
    ['file:///elsewhere', 'must be file: or s3:'],
    ['gs://bucket', 'must be file: or s3:'],
    ['s3://', 'no valid bucket'],
    ['s3://x', 'no valid bucket'],
    ['s3://Bucket_', 'no valid bucket'],
    ['s3://key:secret@bucket', 'must not have credentials'],
    ['s3://bucket?endpont=http://a', 'unknown parameter "endpont"'],
    ['s3://bucket?endpoint=here', 'no http or https address'],
    ['s3://bucket?endpoint=ftp://here', 'no http or https address'],
    ['s3://bucket/%ff', 'percent-encoding'],
  ])('is refused with the reason: %j', (text, why) => {
    expect(payloadLocation(text)).toContain(why);
  });
});
