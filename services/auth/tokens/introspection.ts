import * as z from 'zod';
import { RpcError, unavailable } from '../../kernel/rpc.js';
import { type Claims, identityOf, wordsOf } from './claims.js';
import type { Introspection, RemoteIssuer, Verified } from './issuer.js';
import type { FetchJson } from './issuer-metadata.js';
import { unauthenticated } from './refusal.js';

const answer = z.looseObject({ active: z.boolean() });

/** The characters of a bearer token, by RFC 6750. */
const BEARER = /^[\w~+/.-]+=*$/u;

const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

const credentials = ({ clientId, clientSecret }: Introspection): string =>
  Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64');

/** The claims of a token; `undefined` when the answer does not say that it is active, an error when there is none. */
const claimsOf = async (
  token: string,
  introspection: Introspection,
  fetchJson: FetchJson,
): Promise<Claims | RpcError | undefined> => {
  try {
    const response = await fetchJson(introspection.url, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials(introspection)}`, accept: 'application/json' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    });
    const claims = answer.safeParse(response);
    return claims.data?.active === true ? claims.data : undefined;
  } catch (cause) {
    return unavailable('the issuer does not answer about the token: try again later', cause);
  }
};

const isFor = (audience: readonly string[], { aud }: Claims): boolean =>
  wordsOf(aud).some((each) => audience.includes(each));

/** The identity of a token that an issuer knows, by the claims that it gives for it. */
const verified = (
  claims: Claims,
  { issuer, audience }: RemoteIssuer,
  { cacheMs }: Introspection,
  now: number,
): Verified => {
  if (!isFor(audience, claims)) throw unauthenticated('the token is for another audience');
  const identity = identityOf(claims, issuer);
  if ((identity.expiresAt ?? Infinity) <= now) throw unauthenticated('the token has expired');
  return { identity, until: Math.min(identity.expiresAt ?? Infinity, now + cacheMs) };
};

/**
 * Verifies an opaque token.
 *
 * @throws {RpcError} UNAUTHENTICATED when the token is malformed, no issuer knows it, or the one that does names
 * another audience or a past expiry; UNAVAILABLE when no issuer knows it, and one of them cannot be asked.
 */
export type Introspect = (token: string) => Promise<Verified>;

/**
 * Makes the verifier of opaque tokens. It asks the issuers that have introspection, one after another, and last those
 * that did not answer when they were asked before: the tokens of the others do not wait for them. The answer must name
 * the audience, as a JWT must.
 */
export const introspecting = (
  issuers: readonly RemoteIssuer[],
  { fetchJson, now }: { readonly fetchJson: FetchJson; readonly now: () => number },
): Introspect => {
  const silent = new Set<RemoteIssuer>();
  return async (token) => {
    if (!BEARER.test(token)) throw unauthenticated('the token is malformed');
    let failure: RpcError | undefined;
    for (const issuer of [...issuers.filter((each) => !silent.has(each)), ...silent]) {
      const { introspection } = issuer;
      if (!introspection) continue;
      const claims = await claimsOf(token, introspection, fetchJson);
      if (claims instanceof RpcError) {
        silent.add(issuer);
        failure = claims;
        continue;
      }
      silent.delete(issuer);
      if (claims) return verified(claims, issuer, introspection, now());
    }
    throw failure ?? unauthenticated('no issuer knows the token, or it is no longer valid');
  };
};
