import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';

import { RpcError } from '../../kernel/rpc.js';

type Decompress = (compressed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const decompressors = {
  identity: undefined,
  deflate: promisify(inflate) as Decompress,
  gzip: promisify(gunzip) as Decompress,
} as const;

/** The name of a message compression, as in `grpc-encoding`. */
export type MessageEncoding = keyof typeof decompressors;

/** All supported compressions, `identity` among them. */
export const encodings = Object.keys(decompressors) as readonly MessageEncoding[];

/** True for the name of a supported compression. */
export const isEncoding = (name: unknown): name is MessageEncoding => encodings.includes(name as MessageEncoding);

/**
 * The error for a message above the size limit.
 *
 * @param sizes the limit in bytes, or the size of the message and the limit; part of the text.
 */
export const tooLarge = (sizes: string): RpcError =>
  new RpcError('RESOURCE_EXHAUSTED', `message larger than max (${sizes})`);

const isResultTooLarge = (thrown: unknown): boolean =>
  thrown instanceof RangeError && 'code' in thrown && thrown.code === 'ERR_BUFFER_TOO_LARGE';

/**
 * Decompresses a message.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the bytes are not in the given compression, or when the compression is
 * `identity`; RESOURCE_EXHAUSTED when the result is larger than `maxBytes`.
 */
export const decompress = async (compressed: Buffer, encoding: MessageEncoding, maxBytes: number): Promise<Buffer> => {
  const decompressWith = decompressors[encoding];
  if (decompressWith === undefined)
    throw new RpcError('INVALID_ARGUMENT', 'a compressed message, but grpc-encoding names no compression');
  try {
    return await decompressWith(compressed, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (isResultTooLarge(cause)) throw tooLarge(`${maxBytes}`);
    throw new RpcError('INVALID_ARGUMENT', 'cannot decompress the message');
  }
};
