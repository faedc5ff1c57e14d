import type { SignInMetadataSource } from '../metadata/rpc.js';
import { SCOPES } from './scopes.js';

/** The paths of the endpoints; the first three are those of installations of Flyte. */
export const ROUTES = {
  authorization: '/oauth2/authorize',
  token: '/oauth2/token',
  jwks: '/oauth2/jwks',
  userinfo: '/oauth2/userinfo',
  revocation: '/oauth2/revoke',
  device_authorization: '/oauth2/device/authorize',
  code_verification: '/oauth2/device',
  end_session: '/oauth2/logout',
} as const;

/** The path below which a proxy serves an address: empty, or such as `/flightlog`. Requests arrive without it. */
export const pathPrefix = (address: string): string => new URL(address).pathname.replace(/\/$/u, '');

/** The answer of GetOAuth2Metadata, as the command lines and SDKs in the field expect it. */
export const serverMetadata = (issuer: string): Awaited<ReturnType<SignInMetadataSource['server']>> => ({
  issuer,
  authorizationEndpoint: `${issuer}${ROUTES.authorization}`,
  tokenEndpoint: `${issuer}${ROUTES.token}`,
  deviceAuthorizationEndpoint: `${issuer}${ROUTES.device_authorization}`,
  jwksUri: `${issuer}${ROUTES.jwks}`,
  responseTypesSupported: ['code'],
  scopesSupported: [...SCOPES],
  grantTypesSupported: [
    ...['client_credentials', 'refresh_token', 'authorization_code'],
    'urn:ietf:params:oauth:grant-type:device_code',
  ],
  codeChallengeMethodsSupported: ['S256'],
  tokenEndpointAuthMethodsSupported: ['client_secret_basic', 'client_secret_post', 'none'],
});
