import * as z from 'zod';
import { unavailable } from '../../kernel/rpc.js';
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

const ask = async (token: string, introspection: Introspection, fetchJson: FetchJson): Promise<Claims | undefined> => {
  const asked = await fetchJson(introspection.url, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials(introspection)}`, accept: 'application/json' },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
  }).catch((cause: unknown) => {
    throw unavailable('the issuer does not answer about the token: try again later', cause);
  });
  const claims = answer.safeParse(asked);
  return claims.data?.active === true ? claims.data : undefined;
};

const isFor = (audience: readonly string[], { aud }: Claims): boolean =>
  wordsOf(aud).some((each) => audience.includes(each));

/**
 * Verifies an opaque token by asking the issuers that have introspection, one after another. The answer must name the
 * audience, as a JWT must.
 *
 * @throws {RpcError} UNAUTHENTICATED when the token is malformed, no issuer knows it, or the one that does names another
 * audience or a past expiry; UNAVAILABLE when an issuer cannot be asked.
 */
export const introspect = async (
  token: string,
  issuers: readonly RemoteIssuer[],
  { fetchJson, now }: { readonly fetchJson: FetchJson; readonly now: () => number },
): Promise<Verified> => {
  if (!BEARER.test(token)) throw unauthenticated('the token is malformed');
  for (const { issuer, audience, introspection } of issuers) {
    const claims = introspection && (await ask(token, introspection, fetchJson));
    if (!claims) continue;
    if (!isFor(audience, claims)) throw unauthenticated('the token is for another audience');
    const identity = identityOf(claims, issuer);
    if ((identity.expiresAt ?? Infinity) <= now()) throw unauthenticated('the token has expired');
    return { identity, until: Math.min(identity.expiresAt ?? Infinity, now() + introspection.cacheMs) };
  }
  throw unauthenticated('no issuer knows the token, or it is no longer valid');
};
