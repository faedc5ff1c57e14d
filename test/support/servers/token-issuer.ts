import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

import { exportJWK, SignJWT } from 'jose';

/** An issuer in the test: its keys, and the tokens that it makes. */
export type TestIssuer = {
  /** The URL that its tokens have as `iss`. */
  readonly issuer: string;
  readonly audience: string;
  /** Milliseconds since 1970; a test may move it. */
  readonly clock: { now: number };
  /** Adds a key, and removes all others unless they are kept. */
  readonly rotate: (keyId: string, keep?: boolean) => void;
  /** The JSON Web Key Set with the public keys. */
  readonly jwks: () => Promise<{ readonly keys: readonly unknown[] }>;
  readonly privateKey: () => KeyObject;
  readonly publicKey: () => KeyObject;
  /** Makes a token of the subject `ada` that is valid for five minutes; `claims` and `header` add or replace fields. */
  readonly token: (
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
    key?: KeyObject,
  ) => Promise<string>;
};

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** In seconds. */
const MINUTE = 60;

/** Converts milliseconds to the whole seconds of a token's times. */
export const secondsOf = (ms: number): number => Math.floor(ms / 1_000);

/** Makes an issuer with one key, `first`. Its clock is set to the start of 2026. */
export const testIssuer = (issuer = 'https://issuer.test', audience = 'flightlog'): TestIssuer => {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const keys = new Map([['first', newKey()]]);
  let current = 'first';
  return {
    issuer,
    audience,
    clock,
    rotate: (keyId, keep = false) => {
      if (!keep) keys.clear();
      keys.set(keyId, newKey());
      current = keyId;
    },
    jwks: async () => ({
      keys: await Promise.all(
        [...keys].map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid, alg: 'ES256' })),
      ),
    }),
    privateKey: () => keys.get(current)!.privateKey,
    publicKey: () => keys.get(current)!.publicKey,
    token: (claims = {}, header = {}, key = keys.get(current)!.privateKey) => {
      const now = secondsOf(clock.now);
      const all = { iss: issuer, aud: audience, sub: 'ada', exp: now + 5 * MINUTE, ...claims };
      return new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid: current, ...header }).sign(key);
    },
  };
};

/** The header or the payload of a token, in the encoding of a JWT. */
const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** Tokens that a server must refuse, by what is wrong with them. */
export const wrongTokens = async (issuer: TestIssuer): Promise<Readonly<Record<string, string>>> => {
  const now = secondsOf(issuer.clock.now);
  const good = await issuer.token();
  const [, payload = ''] = good.split('.');
  const pem = issuer.publicKey().export({ type: 'spki', format: 'pem' }).toString();
  const otherKey = newKey().privateKey;
  return {
    garbage: 'garbage',
    'three parts of garbage': 'a.b.c',
    expired: await issuer.token({ exp: now - 2 * MINUTE }),
    'without expiry': await issuer.token({ exp: undefined }),
    'not valid yet': await issuer.token({ nbf: now + 2 * MINUTE }),
    'for another audience': await issuer.token({ aud: 'another' }),
    'of another issuer': await issuer.token({ iss: 'https://other.test' }),
    'signed with an unknown key': await issuer.token({}, { kid: 'unknown' }, otherKey),
    'signed with another key of a known id': await issuer.token({}, {}, otherKey),
    'with the algorithm none': `${encoded({ alg: 'none', typ: 'JWT' })}.${payload}.`,
    'signed with HS256 and the public key': await issuer.token({}, { alg: 'HS256' }, createSecretKey(Buffer.from(pem))),
    'changed after signing': good.replace(
      payload,
      encoded({ iss: issuer.issuer, aud: issuer.audience, sub: 'eve', exp: now + MINUTE }),
    ),
    'without a subject': await issuer.token({ sub: undefined }),
  };
};
