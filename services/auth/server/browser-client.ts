import type { ClientMetadata } from 'oidc-provider';

/** The client as which this server signs people in for browser sessions. */
export const BROWSER_CLIENT = 'flightlog-console';

/** The path at which an issuer returns browsers. */
export const CALLBACK = '/callback';

/** The path of the console, to which browsers are redirected when the issuer has signed a person out. */
export const SIGNED_OUT = '/console';

/**
 * The metadata of that client. It is the server itself, so people are not asked whether it may act for them; it can
 * therefore get tokens by the code flow with flightlog's own redirect alone.
 */
export const browserClient = (issuer: string): ClientMetadata => ({
  client_id: BROWSER_CLIENT,
  client_name: 'the console',
  application_type: 'web',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code'],
  response_types: ['code'],
  redirect_uris: [`${issuer}${CALLBACK}`],
  post_logout_redirect_uris: [`${issuer}${SIGNED_OUT}`],
});
