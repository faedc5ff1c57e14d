import inject from 'light-my-request';
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  Configuration,
  customFetch,
  discovery,
  None,
} from 'openid-client';
import type { AuthorizationServer } from '../server/authorization-server.js';
import { BROWSER_CLIENT } from '../server/browser-client.js';
import { pathPrefix, ROUTES, serverMetadata } from '../server/endpoints.js';

/** The issuer that signs people in, and the client by which flightlog is known there. */
export interface IssuerClient {
  readonly scope: string;
  /** Asked for where an issuer wants it named; empty for others. */
  readonly audience: string;
  /**
   * @param address the address of the browser, by which an issuer in this process limits requests.
   * @throws {Error} when the issuer must be asked, and does not answer with its metadata.
   */
  configuration(address: string): Promise<Configuration>;
}

const isPlain = (url: string): boolean => new URL(url).protocol === 'http:';

// Allows requests without TLS, for an issuer whose address begins with `http:`. It is the function of the library
// itself and not a wrapper around it, because the library recognizes it by identity in the option `execute` of a
// discovery. The library marks it as deprecated only as a warning about insecure requests.
// oxlint-disable-next-line typescript/no-deprecated
const allowPlain: (configuration: Configuration) => void = allowInsecureRequests;

const headersOf = (headers: Readonly<Record<string, unknown>>): Headers =>
  new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** Sends requests of the client to the authorization server in this process, over no network. */
const inProcess =
  (server: AuthorizationServer, remoteAddress: string): NonNullable<Configuration[typeof customFetch]> =>
  async (url, { method, headers, body }) => {
    const { pathname, search } = new URL(url);
    const prefix = pathPrefix(server.issuer);
    const answered = await inject((request, response) => void server.answer(request, response), {
      ...{ method: method as 'POST', url: `${pathname.slice(prefix.length)}${search}`, headers, remoteAddress },
      ...(body instanceof URLSearchParams && { payload: body.toString() }),
    });
    return new Response(answered.payload, { status: answered.statusCode, headers: headersOf(answered.headers) });
  };

/** The authorization server of this process as issuer. Its client has no secret: codes are bound by PKCE. */
export const ownIssuer = (server: AuthorizationServer): IssuerClient => ({
  scope: 'openid profile all',
  audience: '',
  configuration: (address) => {
    const { issuer } = server;
    const metadata = serverMetadata(issuer);
    const configuration = new Configuration(
      {
        issuer,
        authorization_endpoint: String(metadata.authorizationEndpoint),
        token_endpoint: String(metadata.tokenEndpoint),
        end_session_endpoint: `${issuer}${ROUTES.end_session}`,
        authorization_response_iss_parameter_supported: true,
      },
      BROWSER_CLIENT,
      { token_endpoint_auth_method: 'none' },
      None(),
    );
    if (isPlain(issuer)) allowPlain(configuration);
    configuration[customFetch] = inProcess(server, address);
    return Promise.resolve(configuration);
  },
});

/** An issuer of another process, and the client that is registered there for this server. */
export type ExternalClient = {
  readonly issuer: string;
  readonly clientId: string;
  /** Empty for a public client. */
  readonly clientSecret: string;
  readonly scope: string;
  readonly audience: string;
};

const METADATA_MS = 600_000;
/** The time after a failure in which the last metadata are used without another try, which may take ten seconds. */
const PAUSE_MS = 60_000;

/** An issuer that is slower than this counts as away. */
const DISCOVERY_SECONDS = 10;

const authenticationOf = ({ clientSecret }: ExternalClient): ClientAuth =>
  clientSecret === '' ? None() : ClientSecretBasic(clientSecret);

/**
 * An issuer of another process. Its metadata are fetched when they are first needed, and when they are needed again
 * after ten minutes, once for all that wait. Metadata that are there stay in use while that fails, and it is tried
 * again at most once a minute.
 */
export const externalIssuer = (client: ExternalClient, now: () => number): IssuerClient => {
  const { issuer, clientId, scope, audience } = client;
  let known: { readonly configuration: Configuration; readonly until: number } | undefined;
  let discovering: Promise<Configuration> | undefined;
  const discover = async (): Promise<Configuration> => {
    const options = { execute: isPlain(issuer) ? [allowPlain] : [], timeout: DISCOVERY_SECONDS };
    try {
      const configuration = await discovery(new URL(issuer), clientId, {}, authenticationOf(client), options);
      known = { configuration, until: now() + METADATA_MS };
      return configuration;
    } catch (error) {
      if (!known) throw error;
      known = { ...known, until: now() + PAUSE_MS };
      return known.configuration;
    } finally {
      discovering = undefined;
    }
  };
  return {
    scope,
    audience,
    configuration: () => {
      if (known && now() < known.until) return Promise.resolve(known.configuration);
      return (discovering ??= discover());
    },
  };
};
