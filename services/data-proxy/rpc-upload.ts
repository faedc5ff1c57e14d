import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type CreateUploadLocationRequest,
  type CreateUploadLocationResponse,
  CreateUploadLocationResponseSchema,
} from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { RpcError, invalid } from '../kernel/rpc.js';
import { type UploadKey, segmentProblem, uploadPathProblem } from '../kernel/ports/uploads.js';
import { expirySeconds } from './expiry.js';
import type { DataProxyServices } from './ports.js';

const MD5_BYTES = 16;
const NAME_LENGTH = 20;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BITS_IN_BYTE = 8;
const BITS_IN_DIGIT = 5;
/** The number of digits in a group, to which the text is padded. */
const GROUP = 8;

/** Base32 of RFC 4648, with padding. */
const base32 = (bytes: Uint8Array): string => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(BITS_IN_BYTE, '0')).join('');
  const digits = bits.match(/.{1,5}/gu) ?? [];
  const text = digits.map((each) => BASE32[Number.parseInt(each.padEnd(BITS_IN_DIGIT, '0'), 2)]).join('');
  return text.padEnd(Math.ceil(text.length / GROUP) * GROUP, '=');
};

const randomName = (random: (bytes: number) => Uint8Array): string =>
  Array.from(random(NAME_LENGTH), (byte) => LETTERS[byte % LETTERS.length]).join('');

/** Throws INVALID_ARGUMENT for the first text that has a problem. */
const checkTexts = (texts: Readonly<Record<string, string>>, problemOf: (text: string) => string | undefined): void => {
  for (const [field, text] of Object.entries(texts)) {
    const problem = text === '' ? undefined : problemOf(text);
    if (problem !== undefined) throw invalid(field, problem);
  }
};

/**
 * The location of an upload: `<root or base32 of the MD5>/<filename or a random name>` within its project and domain.
 * So the same content under the same name, without a root, has the same location.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
const uploadKey = (
  { project, domain, org, filename, filenameRoot, contentMd5 }: CreateUploadLocationRequest,
  random: (bytes: number) => Uint8Array,
): UploadKey => {
  if (!project || !domain) throw new RpcError('INVALID_ARGUMENT', 'project and domain are required parameters');
  if (!filenameRoot && contentMd5.length === 0) {
    throw new RpcError('INVALID_ARGUMENT', 'content_md5 or filename_root is a required parameter');
  }
  if (contentMd5.length > 0 && contentMd5.length !== MD5_BYTES) throw invalid('content_md5', 'an MD5 has 16 bytes');
  checkTexts({ project, domain, org }, segmentProblem);
  checkTexts({ filename_root: filenameRoot, filename }, uploadPathProblem);
  const path = `${filenameRoot || base32(contentMd5)}/${filename || randomName(random)}`;
  // Too long with both; the name was made here where none was given.
  checkTexts({ [filename ? 'filename' : 'filename_root']: path }, uploadPathProblem);
  return { org, project, domain, path };
};

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
