import { AuthMetadataService } from '../../proto/gen/platformidl/service/auth_pb.js';
import { EngineStopped } from '../call-error.js';
import { createClient } from '../client.js';
import { type ControlPlane } from '../control-plane.js';
import { issuerFetch } from './issuer-fetch.js';
import { type GetToken, type IssuedToken, type OnTokenFailure, renewedToken } from './token.js';

/** A client of OAuth 2.0. */
export type ClientCredentials = {
  readonly id: string;
  /** Reads the secret, which may be renewed while the engine runs. */
  readonly secret: () => string;
  /** The address that issues tokens; by default the control plane names it. */
  readonly tokenUrl?: string | undefined;
};

type Issuer = { readonly url: string; readonly scopes: readonly string[]; readonly audience: string };

const MS = 1_000;
/** Time limit of the control plane's answer, in milliseconds. */
const ANSWER_MS = 10_000;
/** Lifetime, in seconds, of a token whose issuer does not state one. */
const LIFE_S = 60;

const { getOAuth2Metadata, getPublicClientConfig } = AuthMetadataService.method;

const issuerOf = async (plane: ControlPlane, tokenUrl: string | undefined): Promise<Issuer> => {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const client = createClient({ ...plane, getToken: undefined, concurrency: 2, signal });
  try {
    const [server, publicClient] = await Promise.all([
      client.call(getOAuth2Metadata, {}),
      client.call(getPublicClientConfig, {}),
    ]);
    const url = tokenUrl ?? server.tokenEndpoint;
    if (url === '') throw new Error('the control plane names no address that issues tokens');
    return { url, scopes: publicClient.scopes, audience: publicClient.audience };
  } catch (cause) {
    if (!(cause instanceof EngineStopped)) throw cause;
    throw new Error(`${plane.endpoint} has not named the issuer of its tokens within ${ANSWER_MS / MS} s`, { cause });
  } finally {
    client.close();
  }
};

/** Scopes for people: identity and refresh tokens. Issuers may refuse them to clients. */
const OF_PEOPLE: ReadonlySet<string> = new Set(['offline', 'offline_access', 'openid', 'profile', 'email']);

const issue = async (plane: ControlPlane, { id, secret, tokenUrl }: ClientCredentials): Promise<IssuedToken> => {
  const { url, scopes, audience } = await issuerOf(plane, tokenUrl);
  const oauth = await import('openid-client'); // most engines need none
  const server = { issuer: url, token_endpoint: url };
  const issuer = new oauth.Configuration(server, id, {}, oauth.ClientSecretBasic(secret()));
  if (url.startsWith('http:')) (await import('./plain-issuer.js')).allowPlain(issuer);
  const { ca, isUnverified = false } = plane.tls ?? {};
  const isUntrusted = isUnverified && new URL(url).hostname === new URL(`https://${plane.endpoint}`).hostname;
  issuer[oauth.customFetch] = issuerFetch({ ...(ca && { ca }), ...(isUntrusted && { rejectUnauthorized: false }) });
  const scope = scopes.filter((each) => !OF_PEOPLE.has(each)).join(' ');
  const request = { scope, ...(audience !== '' && { audience }) };
  const { access_token: token, expires_in: seconds = LIFE_S } = await oauth.clientCredentialsGrant(issuer, request);
  return { token, renewAfterMs: (seconds * MS) / 2, lifeMs: seconds * MS };
};

/** Gets tokens by client credentials, each renewed after half of its life. */
export const clientToken = (plane: ControlPlane, client: ClientCredentials, onFailure: OnTokenFailure): GetToken =>
  renewedToken(() => issue(plane, client), onFailure);
