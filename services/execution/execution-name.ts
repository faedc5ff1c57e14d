import { sha256 } from '../kernel/encoding/hash.js';
import { RpcError } from '../kernel/rpc.js';

const MAX_LENGTH = 63;
const FORMAT = /^[a-z][a-z\-0-9]*$/;
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const GENERATED_LENGTH = 20;

/**
 * Checks an execution name. Engines use it as the name of the resource that runs the execution.
 *
 * @throws {RpcError} INVALID_ARGUMENT.
 */
export const assertExecutionName = (name: string): void => {
  if (name.length > MAX_LENGTH)
    throw new RpcError('INVALID_ARGUMENT', `size of name exceeded length ${MAX_LENGTH} : ${name}`);
  if (!FORMAT.test(name))
    throw new RpcError('INVALID_ARGUMENT', `invalid name format: ${name}, does not match regex '${FORMAT.source}'`);
};

/** Makes a name from 19 random bytes: `a` and 19 characters of an alphabet without vowels, so that no words appear. */
export const generatedName = (random: Uint8Array): string =>
  `a${Array.from({ length: GENERATED_LENGTH - 1 }, (_, at) => ALPHABET[(random[at] ?? 0) % ALPHABET.length]).join('')}`;

/**
 * Derives the name of an execution from an idempotency key, for a caller that gives no name: the same key, the same
 * name.
 */
export const nameOfKey = (parts: readonly string[]): string => generatedName(sha256(JSON.stringify(parts)));
