import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataProxyService } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { type ControlPlane, startControlPlane } from '../support/processes/control-plane.js';
import { checksSignatures, makeBucket, newS3Location, s3Setting, s3Url } from '../support/servers/s3-server.js';

const { method } = DataProxyService;
/** The setting for the tests: small, so that they can exceed it. */
const MAX_UPLOAD_BYTES = 1_000;
const md5 = (content: string): Buffer => createHash('md5').update(content).digest();

describe.skipIf(s3Url === undefined)('uploads to a bucket', () => {
  const location = newS3Location();
  let plane: ControlPlane;

  beforeAll(async () => {
    await makeBucket();
    plane = await startControlPlane({
      FLIGHTLOG_PAYLOAD_STORE: s3Setting(location),
      FLIGHTLOG_DATA_PROXY_MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES),
    });
  });
  afterAll(() => plane.close());

  /** A request for a location of an upload; the default name has characters that URLs escape. */
  const locationRequest = (content: string, filename = `${randomUUID()} ö=.bin`) => ({
    project: 'flytesnacks',
    domain: 'development',
    contentMd5: md5(content),
    filename,
    addContentMd5Metadata: true,
  });

  const upload = async (content: string, filename?: string) => {
    const located = await plane.grpc.call(method.createUploadLocation, locationRequest(content, filename));
    const answer = await fetch(located.signedUrl, { method: 'PUT', body: content, headers: located.headers });
    expect(answer.status).toBe(200);
    return located;
  };

  it('have a native URL in the bucket, and are downloaded by a link', async () => {
    const { nativeUrl, headers } = await upload('in a bucket');
    expect(nativeUrl).toContain(`s3://${location.bucket}/${location.prefix}uploads/flytesnacks/development/`);
    const md5Base64 = md5('in a bucket').toString('base64');
    expect(headers).toEqual({ 'Content-MD5': md5Base64, 'x-amz-meta-flytecontentmd5': md5Base64 });
    const { signedUrl } = await plane.grpc.call(method.createDownloadLocation, { nativeUrl });
    expect(await (await fetch(signedUrl)).text()).toBe('in a bucket');
  });

  it('to a named location are accepted again with the same content only', async () => {
    const ask = (content: string) =>
      plane.grpc.attempt(method.createUploadLocation, {
        ...locationRequest(content, 'code.tar.gz'),
        filenameRoot: 'named',
      });
    const located = await plane.grpc.call(method.createUploadLocation, {
      ...locationRequest('one', 'code.tar.gz'),
      filenameRoot: 'named',
    });
    await fetch(located.signedUrl, { method: 'PUT', body: 'one', headers: located.headers });
    expect(await ask('one')).toMatchObject({ code: 'OK' });
    expect(await ask('two')).toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  it('that do not exist, and payloads, have no link to download them', async () => {
    const base = `s3://${location.bucket}/${location.prefix}`;
    for (const nativeUrl of [
      `${base}uploads/a/b/c/d`,
      `${base}payloads/a/b/c`,
      `s3://${location.bucket}/uploads/a/b/c`,
    ]) {
      expect(await plane.grpc.attempt(method.createDownloadLocation, { nativeUrl })).toMatchObject({
        code: 'NOT_FOUND',
      });
    }
  });

  it('that are too large have no link to download them', async () => {
    const largest = await upload('x'.repeat(MAX_UPLOAD_BYTES));
    const { nativeUrl } = await upload('x'.repeat(MAX_UPLOAD_BYTES + 1));
    const ask = (url: string) => plane.grpc.attempt(method.createDownloadLocation, { nativeUrl: url });
    expect(await ask(largest.nativeUrl)).toMatchObject({ code: 'OK' });
    expect(await ask(nativeUrl)).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: expect.stringContaining('message larger than max') as string,
    });
  });

  it.skipIf(!checksSignatures)('are refused by the object store when the link was changed', async () => {
    const { signedUrl, headers } = await plane.grpc.call(method.createUploadLocation, locationRequest('x'));
    const changed = signedUrl.replace('flytesnacks', 'elsewhere');
    expect((await fetch(changed, { method: 'PUT', body: 'x', headers })).status).toBe(403);
  });
});
