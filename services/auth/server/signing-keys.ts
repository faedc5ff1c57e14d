import { createPublicKey, generateKeyPair, hkdfSync, type JsonWebKey, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';
import type { AuthorizationState, StoredKey } from '../../kernel/ports/authorization-state.js';

/** The algorithm of all tokens: the one that every Flyte client can verify. */
export const ALGORITHM = 'RS256' as const;

const MODULUS_BITS = 2_048;
const COOKIE_KEY_BYTES = 32;

/** Each process reads the keys at least this often, in milliseconds. */
export const KEYS_READ_MS = 3_600_000;

/** Times for which a key signs, and for which it is still published after its replacement, each in milliseconds. */
export type KeyLifetimes = { readonly rotateAfterMs: number; readonly publishedMs: number };

/** The changes to the stored keys: make a new one, and forget those whose last token has expired. */
export type KeyPlan = { readonly isNewDue: boolean; readonly expired: readonly string[] };

/** Plans the changes to the keys, which are given the newest first. */
export const planKeys = (
  keys: readonly Pick<StoredKey, 'id' | 'createdAt'>[],
  now: number,
  { rotateAfterMs, publishedMs }: KeyLifetimes,
): KeyPlan => {
  const [newest] = keys;
  const replacedAt = (index: number): number => keys[index - 1]?.createdAt ?? Infinity;
  return {
    isNewDue: newest === undefined || now - newest.createdAt >= rotateAfterMs,
    expired: keys.filter((_key, index) => replacedAt(index) + publishedMs < now).map(({ id }) => id),
  };
};

const makeKey = async (now: number): Promise<StoredKey> => {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: MODULUS_BITS });
  const jwk = privateKey.export({ format: 'jwk' }) as JWK;
  const id = await calculateJwkThumbprint(jwk);
  return { id, jwk: JSON.stringify({ ...jwk, kid: id, alg: ALGORITHM, use: 'sig' }), createdAt: now };
};

/** The keys in force: the first one signs, all of them verify. */
export type SigningKeys = {
  readonly private: readonly JsonWebKey[];
  readonly public: ReadonlyMap<string, KeyObject>;
  /** Keys that sign cookies, derived from the others so that they are rotated with them. */
  readonly cookies: readonly string[];
};

/**
 * Puts the key that signs first. It is the newest that every process has read, or else the oldest: a token may be
 * verified with the published keys of another process, and a sign-in may continue there.
 */
const signingFirst = (keys: readonly StoredKey[], now: number): readonly StoredKey[] => {
  const signing = keys.find(({ createdAt }) => now - createdAt >= KEYS_READ_MS) ?? keys.at(-1);
  return [...keys.filter((key) => key === signing), ...keys.filter((key) => key !== signing)];
};

const inUse = (keys: readonly StoredKey[]): SigningKeys => {
  const jwks = keys.map(({ jwk }) => JSON.parse(jwk) as JsonWebKey);
  return {
    private: jwks,
    public: new Map(jwks.map((jwk) => [String(jwk['kid']), createPublicKey({ key: jwk, format: 'jwk' })])),
    cookies: keys.map(({ jwk }) =>
      Buffer.from(hkdfSync('sha256', jwk, '', 'flightlog cookies', COOKIE_KEY_BYTES)).toString('base64url'),
    ),
  };
};

/** Reads the stored keys, after making a new one when it is due and forgetting those that nothing needs. */
export const currentKeys = async (
  state: Pick<AuthorizationState, 'keys' | 'addKey' | 'removeKeys'>,
  now: number,
  lifetimes: KeyLifetimes,
): Promise<SigningKeys> => {
  const { isNewDue, expired } = planKeys(await state.keys(), now, lifetimes);
  if (isNewDue) await state.addKey(await makeKey(now));
  if (expired.length > 0) await state.removeKeys(expired);
  return inUse(signingFirst(await state.keys(), now));
};
