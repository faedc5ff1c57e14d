import { sha256 } from '../kernel/encoding/hash.js';
import { RpcError } from '../kernel/rpc.js';

const MAX_LENGTH = 63;
const FORMAT = /^[a-z][a-z\-0-9]*$/;
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const GENERATED_LENGTH = 20;

/**
 * Makes sure that a name can be that of an execution: it becomes the name of what runs.
 *
 * @throws {RpcError} INVALID_ARGUMENT.
 */
export const assertExecutionName = (name: string): void => {
  if (name.length > MAX_LENGTH)
    throw new RpcError('INVALID_ARGUMENT', `size of name exceeded length ${MAX_LENGTH} : ${name}`);
  if (!FORMAT.test(name))
    throw new RpcError('INVALID_ARGUMENT', `invalid name format: ${name}, does not match regex '${FORMAT.source}'`);
};

/** A name out of random bytes: `a` and 19 characters that make no words. */
export const generatedName = (random: Uint8Array): string =>
  `a${Array.from({ length: GENERATED_LENGTH - 1 }, (_, at) => ALPHABET[(random[at] ?? 0) % ALPHABET.length]).join('')}`;

/** The name of an execution whose caller has a key for it, and no name: the same key, the same name. */
export const nameOfKey = (parts: readonly string[]): string => generatedName(sha256(JSON.stringify(parts)));
