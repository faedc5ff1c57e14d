import * as z from 'zod';
import { unavailable } from '../../kernel/rpc.js';
import { type FetchJson, issuerDocument } from '../tokens/issuer-metadata.js';
import type { SignInMetadataSource } from './rpc.js';

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');
const texts = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? []);

const document = z.looseObject({
  issuer: text,
  authorization_endpoint: text,
  token_endpoint: text,
  device_authorization_endpoint: text,
  jwks_uri: text,
  response_types_supported: texts,
  scopes_supported: texts,
  grant_types_supported: texts,
  code_challenge_methods_supported: texts,
  token_endpoint_auth_methods_supported: texts,
});

const KEPT_MS = 10 * 60_000;
/** The time after a failed fetch in which a kept answer is given without another try, which may take seconds. */
const PAUSE_MS = 60_000;
const RETRY_S = 5;

type Answer = Awaited<ReturnType<SignInMetadataSource['server']>>;

const answerOf = (found: z.output<typeof document>): Answer => ({
  issuer: found.issuer,
  authorizationEndpoint: found.authorization_endpoint,
  tokenEndpoint: found.token_endpoint,
  deviceAuthorizationEndpoint: found.device_authorization_endpoint,
  jwksUri: found.jwks_uri,
  responseTypesSupported: found.response_types_supported,
  scopesSupported: found.scopes_supported,
  grantTypesSupported: found.grant_types_supported,
  codeChallengeMethodsSupported: found.code_challenge_methods_supported,
  tokenEndpointAuthMethodsSupported: found.token_endpoint_auth_methods_supported,
});

/**
 * The metadata of an external issuer: fetched on request, once for all calls that wait for it, and kept for ten
 * minutes; longer while it cannot be fetched, which is then tried at most once a minute.
 */
export const externalMetadata = (
  issuer: string,
  fetchJson: FetchJson,
  now: () => number = Date.now,
): SignInMetadataSource['server'] => {
  let kept: { readonly answer: Answer; readonly at: number } | undefined;
  let failedAt = -Infinity;
  let fetching: Promise<Answer> | undefined;
  const fetchAnswer = async (): Promise<Answer> => {
    try {
      kept = { answer: answerOf(document.parse(await issuerDocument(issuer, fetchJson))), at: now() };
    } catch (error) {
      failedAt = now();
      if (!kept) throw unavailable(`the issuer ${issuer} does not answer`, error, RETRY_S * 1_000);
    } finally {
      fetching = undefined;
    }
    return kept.answer;
  };
  return () => {
    if (kept && (now() - kept.at < KEPT_MS || now() - failedAt < PAUSE_MS)) return Promise.resolve(kept.answer);
    return (fetching ??= fetchAnswer());
  };
};
