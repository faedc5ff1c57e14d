import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';

import { RpcError } from '../../kernel/rpc.js';

type Unpack = (packed: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const unpacking = {
  identity: undefined,
  deflate: promisify(inflate) as Unpack,
  gzip: promisify(gunzip) as Unpack,
} as const;

/** A way to compress messages. */
export type MessageEncoding = keyof typeof unpacking;

/** Every way that is understood. */
export const encodings = Object.keys(unpacking) as readonly MessageEncoding[];

/** Whether messages may come so compressed. */
export const isEncoding = (name: unknown): name is MessageEncoding => encodings.includes(name as MessageEncoding);

/** A message is more than may be. */
export const tooLarge = (what: string): RpcError =>
  new RpcError('RESOURCE_EXHAUSTED', `message larger than max (${what})`);

const isTooLong = (thrown: unknown): boolean =>
  thrown instanceof RangeError && 'code' in thrown && thrown.code === 'ERR_BUFFER_TOO_LARGE';

/**
 * Unpacks a compressed message.
 *
 * @throws {RpcError} INVALID_ARGUMENT when it is not compressed as was said; RESOURCE_EXHAUSTED when it is too much.
 */
export const unpack = async (packed: Buffer, encoding: MessageEncoding, maxBytes: number): Promise<Buffer> => {
  const unpackWith = unpacking[encoding];
  if (unpackWith === undefined) throw new RpcError('INVALID_ARGUMENT', 'a compressed message without grpc-encoding');
  try {
    return await unpackWith(packed, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (isTooLong(cause)) throw tooLarge(`${maxBytes}`);
    throw new RpcError('INVALID_ARGUMENT', 'cannot decompress the message');
  }
};
