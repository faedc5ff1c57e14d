import { create } from '@bufbuild/protobuf';
import { HttpProxyAgent, HttpsProxyAgent } from 'hpagent';
import { type ClientAuth, Configuration, type CustomFetch, customFetch, discovery, None } from 'openid-client';
import { issuerFetch, type IssuerOptions } from '../../../../engine/tokens/issuer-fetch.js';
import { allowPlain } from '../../../../engine/tokens/plain-issuer.js';
import {
  AuthMetadataService,
  type OAuth2MetadataResponse,
  OAuth2MetadataRequestSchema,
  type PublicClientAuthConfigResponse,
  PublicClientAuthConfigRequestSchema,
} from '../../../../proto/gen/platformidl/service/auth_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import type { Transport } from '../connection/connection.js';
import type { Profile } from '../connection/profile.js';
import { proxyHeaders } from '../connection/proxy-headers.js';
import { neededCertificates } from '../../needed-file.js';
import { errorText } from '../../../kernel/error-text.js';

/** The issuer of the tokens of a server, and the client that people sign in with there. */
export type SignInMetadata = {
  readonly server: OAuth2MetadataResponse;
  readonly client: PublicClientAuthConfigResponse;
};

/**
 * Gets from the server the metadata of its issuer and of the client.
 *
 * @throws {OperatorError} when the server refuses or cannot be reached.
 */
export const signInMetadata = async (transport: Transport): Promise<SignInMetadata> => {
  const { getOAuth2Metadata, getPublicClientConfig } = AuthMetadataService.method;
  return {
    server: await transport.call(getOAuth2Metadata, create(OAuth2MetadataRequestSchema), {}),
    client: await transport.call(getPublicClientConfig, create(PublicClientAuthConfigRequestSchema), {}),
  };
};

const tlsOf = ({ address }: Profile): IssuerOptions => {
  if (address.kind === 'rest') return {};
  const { caFile, skipVerify } = address;
  return {
    rejectUnauthorized: !skipVerify,
    ...(caFile !== undefined && { ca: neededCertificates(caFile) }),
  };
};

/** The error of the agent for a proxy that does not connect to the issuer; it has the status of HTTP. */
const NOT_CONNECTED = /^Bad response: (\d+)$/u;

const errorOfProxy = (proxy: string, error: unknown): unknown => {
  const [, status] = NOT_CONNECTED.exec(errorText(error)) ?? [];
  if (status === undefined) return error;
  const advice = status === '407' ? ': check admin.proxyCommand, which prints its token' : '';
  return new OperatorError(`the proxy ${new URL(proxy).host} answers ${status}${advice}`, { cause: error });
};

/**
 * Sends requests to the issuer, through the HTTP proxy of the profile if it names one. The token of `proxyCommand` is
 * then sent to that proxy alone, otherwise with each request.
 */
const fetchFor =
  (profile: Profile): CustomFetch =>
  (url, request) => {
    const { issuerUrl: proxy } = profile.proxy;
    const headers = proxyHeaders(profile.proxy);
    if (proxy === undefined)
      return issuerFetch(tlsOf(profile))(url, { ...request, headers: { ...request.headers, ...headers } });
    const Agent = url.startsWith('https:') ? HttpsProxyAgent : HttpProxyAgent;
    const agent = new Agent({ proxy, proxyRequestOptions: { headers } });
    return issuerFetch({ ...tlsOf(profile), agent })(url, request).catch((error: unknown) => {
      throw errorOfProxy(proxy, error);
    });
  };

type Client = { readonly id: string; readonly authentication: ClientAuth };

/** The issuer of the server's tokens, as the library knows it; `tokenUrl` of a profile replaces the server's. */
export const issuerFor = (
  { server }: SignInMetadata,
  { id, authentication }: Client,
  { profile, tokenUrl = server.tokenEndpoint }: { readonly profile: Profile; readonly tokenUrl?: string | undefined },
): Configuration => {
  const configuration = new Configuration(
    {
      issuer: server.issuer || tokenUrl,
      authorization_endpoint: server.authorizationEndpoint,
      token_endpoint: tokenUrl,
      device_authorization_endpoint: server.deviceAuthorizationEndpoint,
    },
    id,
    {},
    authentication,
  );
  if (tokenUrl.startsWith('http:')) allowPlain(configuration);
  configuration[customFetch] = fetchFor(profile);
  return configuration;
};

/** The issuer of the server's tokens by its own metadata, with the client of people. */
export const discoveredIssuer = ({ server, client }: SignInMetadata, profile: Profile): Promise<Configuration> =>
  discovery(new URL(server.issuer), client.clientId, {}, None(), {
    execute: server.issuer.startsWith('http:') ? [allowPlain] : [],
    [customFetch]: fetchFor(profile),
  });

/** The code with which an issuer has refused, or the reason why it could not be asked. */
export const codeOf = (error: unknown): string => {
  const { error: code, cause } = error as { readonly error?: unknown; readonly cause?: unknown };
  if (typeof code === 'string') return code;
  return cause instanceof Error ? cause.message : (error as Error).message;
};

/** The error with which a request has failed before the issuer answered, in the library's error about it. */
const failureIn = (error: unknown): Error | undefined =>
  error instanceof Error && error.cause instanceof Error ? error.cause : undefined;

/**
 * Asks the issuer, and turns its errors into one line.
 *
 * @param advice for the operator, when the issuer has refused.
 * @throws {OperatorError} with the code of the issuer and `advice`, or with the reason why it could not be asked.
 */
export const callIssuer = async <Answer>(
  url: string,
  advice: string,
  request: () => Promise<Answer>,
): Promise<Answer> => {
  try {
    return await request();
  } catch (cause) {
    const failure = failureIn(cause);
    for (const each of [cause, failure]) if (each instanceof OperatorError) throw each;
    throw new OperatorError(`${url} gives no token: ${codeOf(cause)}${failure ? '' : `; ${advice}`}`, { cause });
  }
};
