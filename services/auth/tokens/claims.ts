import type { Identity } from '../../kernel/ports/authentication.js';
import { unauthenticated } from './refusal.js';

/** The claims of a token, as its issuer wrote them. */
export type Claims = Readonly<Record<string, unknown>>;

const MS = 1_000;

const textIn = (claims: Claims, names: readonly string[]): string => {
  for (const name of names) {
    const value = claims[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return '';
};

/** The values of a claim that is a list, or words with spaces between them. */
export const wordsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '');
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
};

/** Scopes narrow what a token may do, so a claim that cannot be read must not count as none. */
const scopesIn = (claims: Claims, name: 'scope' | 'scp'): readonly string[] => {
  const value = claims[name] ?? [];
  const isReadable =
    typeof value === 'string' || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
  if (!isReadable) throw unauthenticated(`the claim ${name} of the token is neither a text nor a list of texts`);
  return wordsOf(value);
};

/**
 * The identity that the claims of a verified token describe.
 *
 * @throws {RpcError} UNAUTHENTICATED when they name neither a subject nor a client, or have scopes that are no texts.
 */
export const identityOf = (claims: Claims, issuer: string): Identity => {
  const clientId = textIn(claims, ['client_id', 'azp', 'cid']);
  const principal = textIn(claims, ['sub']) || clientId;
  if (principal === '') throw unauthenticated('the token names no subject');
  return {
    principal,
    issuer,
    clientId,
    scopes: [...scopesIn(claims, 'scope'), ...scopesIn(claims, 'scp')],
    claims,
    expiresAt: typeof claims['exp'] === 'number' ? claims['exp'] * MS : undefined,
  };
};
