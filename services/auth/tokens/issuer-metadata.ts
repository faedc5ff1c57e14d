import * as z from 'zod';
import { errorText } from '../../kernel/error-text.js';

/** Fetches a JSON document; rejects unless the answer has a success status (2xx) and comes in time. */
export type FetchJson = (url: string, request?: RequestInit) => Promise<unknown>;

const TIMEOUT_MS = 5_000;

/** Fetches JSON over HTTP. Redirects are refused, because they could lead into the network of the server. */
export const fetchJson: FetchJson = async (url, request = {}) => {
  const answer = await fetch(url, { ...request, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  return answer.json();
};

const document = z.looseObject({ issuer: z.string(), jwks_uri: z.string().nullish() });

/** Both well-known addresses: of OpenID Connect, and of RFC 8414, which puts its name in front of the path. */
const addressesOf = (issuer: string): readonly string[] => {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/u, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
};

/**
 * Fetches the metadata of an issuer, whole.
 *
 * @throws {Error} when neither address answers with a document of this issuer; its cause has the reasons of both.
 */
export const issuerDocument = async (issuer: string, fetchDocument: FetchJson): Promise<z.output<typeof document>> => {
  const reasons: unknown[] = [];
  for (const address of addressesOf(issuer)) {
    try {
      const found = document.parse(await fetchDocument(address));
      if (found.issuer !== issuer) throw new Error(`${address} names another issuer, ${found.issuer}`);
      return found;
    } catch (error) {
      reasons.push(error);
    }
  }
  const texts = new Set(reasons.map(errorText));
  const cause = new Error([...texts].join('; '), { cause: reasons.at(-1) });
  throw new Error(`no metadata of the issuer ${issuer}`, { cause });
};
