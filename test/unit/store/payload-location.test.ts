import { describe, expect, it } from 'vitest';
import { isMixedWithBackup, payloadLocation } from '../../../services/store/payloads/payload-location.js';

describe('the location of payloads', () => {
  it.each([
    ['file:', { kind: 'file' }],
    ['s3://bucket', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/a/b', { kind: 's3', bucket: 'bucket', prefix: 'a/b/' }],
    ['s3://bucket/team%231', { kind: 's3', bucket: 'bucket', prefix: 'team#1/' }],
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
    ['s3://bucket?endpoint=http://key:secret@here', 'must not have credentials'],
    ['s3://here:9000/bucket', 'has port 9000 after its bucket'],
    ['s3://bucket?endpont=http://a', 'unknown parameter "endpont"'],
    ['s3://bucket?endpoint=here', 'no http or https address'],
    ['s3://bucket?endpoint=ftp://here', 'no http or https address'],
    ['s3://bucket/%ff', 'percent-encoding that cannot be decoded'],
    ['s3://bucket/%zz', 'percent-encoding that cannot be decoded'],
    [
      's3://bucket/team#1',
      'has a #, which ends its prefix: leave it out with what follows, or write %23 where it is part of the prefix',
    ],
  ])('is refused with the reason: %j', (text, reason) => {
    expect(payloadLocation(text)).toContain(reason);
  });
});

describe('a backup beside the payloads of a bucket', () => {
  const isMixed = (payloads: string, backup: string): boolean =>
    isMixedWithBackup(...([payloads, backup].map(payloadLocation) as Parameters<typeof isMixedWithBackup>));

  it.each([
    ['s3://bucket', 's3://bucket/'],
    ['s3://bucket/a?endpoint=http://here', 's3://bucket/a/?endpoint=http://here/'],
    ['s3://bucket/a', 's3://bucket/a/payloads'],
    ['s3://bucket/a', 's3://bucket/a/uploads/b'],
    ['s3://bucket/a/files', 's3://bucket/a'],
  ])('is mixed with them: payloads at %s, the backup at %s', (payloads, backup) => {
    expect(isMixed(payloads, backup)).toBe(true);
  });

  it.each([
    ['file:', 's3://bucket'],
    ['s3://bucket', 's3://other'],
    ['s3://bucket?endpoint=http://here', 's3://bucket?endpoint=http://there'],
    ['s3://bucket/a', 's3://bucket'],
    ['s3://bucket', 's3://bucket/a'],
    ['s3://bucket/a', 's3://bucket/ab'],
  ])('is apart from them: payloads at %s, the backup at %s', (payloads, backup) => {
    expect(isMixed(payloads, backup)).toBe(false);
  });
});
