import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type CreateUploadLocationRequest,
  type CreateUploadLocationResponse,
  CreateUploadLocationResponseSchema,
} from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { RpcError } from '../kernel/rpc.js';
import type { UploadKey } from '../kernel/ports/uploads.js';
import { expirySeconds } from './expiry.js';
import type { DataProxyServices } from './services.js';
import { uploadKey } from './upload-key.js';

const SECOND_MS = 1_000;

/**
 * Refuses to overwrite an upload whose complete path the caller chose, unless the content is the same.
 *
 * @throws {RpcError} ALREADY_EXISTS.
 */
const refuseOther = async (
  { uploads }: DataProxyServices,
  { filename, filenameRoot, contentMd5 }: CreateUploadLocationRequest,
  key: UploadKey,
): Promise<void> => {
  if (!filename || !filenameRoot) return;
  const found = await uploads.find(key);
  if (found === undefined || (contentMd5.length > 0 && (await found.hasMd5(contentMd5)))) return;
  throw new RpcError(
    'ALREADY_EXISTS',
    `file already exists at location [${uploads.nativeUrl(key)}], specify a matching hash if you wish to rewrite`,
  );
};

/** Makes a link to upload a file. */
export const createUploadLocation = async (
  services: DataProxyServices,
  request: CreateUploadLocationRequest,
): Promise<CreateUploadLocationResponse> => {
  const { uploads, random, now } = services;
  const key = uploadKey(request, random);
  await refuseOther(services, request, key);
  const expiresInSeconds = expirySeconds(request.expiresIn);
  if (typeof expiresInSeconds === 'string') throw new RpcError('INVALID_ARGUMENT', expiresInSeconds);
  const { contentMd5, addContentMd5Metadata: notesMd5 } = request;
  const md5 = contentMd5.length > 0 ? contentMd5 : undefined;
  const expiresAt = timestampFromMs(now() + expiresInSeconds * SECOND_MS);
  const { url, headers } = await uploads.linkToPut(key, { md5, notesMd5, expiresInSeconds });
  return create(CreateUploadLocationResponseSchema, {
    signedUrl: url,
    nativeUrl: uploads.nativeUrl(key),
    expiresAt,
    headers: { ...headers },
  });
};
