import type { CreateUploadLocationRequest } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { invalid, RpcError } from '../kernel/rpc.js';
import { isPathSegment, isUploadPath, type UploadKey } from '../kernel/ports/uploads.js';

const MD5_BYTES = 16;
const NAME_LENGTH = 20;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BITS = 5;
const GROUP = 8;

/** Base32 of RFC 4648, with padding. */
const base32 = (bytes: Uint8Array): string => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(GROUP, '0')).join('');
  const digits = bits.match(/.{1,5}/gu) ?? [];
  const text = digits.map((each) => BASE32[Number.parseInt(each.padEnd(BITS, '0'), 2)]).join('');
  return text.padEnd(Math.ceil(text.length / GROUP) * GROUP, '=');
};

const randomName = (random: (bytes: number) => Uint8Array): string =>
  Array.from(random(NAME_LENGTH), (byte) => LETTERS[byte % LETTERS.length]).join('');

/** Throws INVALID_ARGUMENT for the first part that cannot be in a path. */
const checkSegments = (parts: Readonly<Record<string, string>>, isFit: (text: string) => boolean): void => {
  const wrong = Object.entries(parts).find(([, text]) => text !== '' && !isFit(text));
  if (wrong) throw invalid(wrong[0], 'it cannot be in a path');
};

/**
 * The location of an upload: `<root or base32 of the MD5>/<filename>` within its project and domain, so that the same
 * content under the same name has the same location.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const uploadKey = (
  { project, domain, org, filename, filenameRoot, contentMd5 }: CreateUploadLocationRequest,
  random: (bytes: number) => Uint8Array,
): UploadKey => {
  if (!project || !domain) throw new RpcError('INVALID_ARGUMENT', 'project and domain are required parameters');
  if (!filenameRoot && contentMd5.length === 0) {
    throw new RpcError('INVALID_ARGUMENT', 'content_md5 or filename_root is a required parameter');
  }
  if (contentMd5.length > 0 && contentMd5.length !== MD5_BYTES) throw invalid('content_md5', 'an MD5 has 16 bytes');
  checkSegments({ project, domain, org }, isPathSegment);
  checkSegments({ filename_root: filenameRoot, filename }, isUploadPath);
  const path = `${filenameRoot || base32(contentMd5)}/${filename || randomName(random)}`;
  if (!isUploadPath(path)) throw invalid('filename', 'it is too long together with filename_root');
  return { org, project, domain, path };
};
