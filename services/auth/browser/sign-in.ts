import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { CALLBACK } from '../server/browser-client.js';
import type { IssuerClient } from './issuer-client.js';

/** A sign-in that a browser has begun; the browser keeps it sealed until it returns from the issuer. */
export type BegunSignIn = {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The path of this server to show in the end. */
  readonly target: string;
};

/** An exchange with a browser: the URL under which it reaches this server, and its address. */
export type BrowserRequest = { readonly baseUrl: string; readonly address: string };

/** Begins a sign-in by the code flow with PKCE. `url` is where the issuer asks the person. */
export const beginSignIn = async (
  issuer: IssuerClient,
  target: string,
  { baseUrl, address }: BrowserRequest,
): Promise<{ readonly url: URL; readonly begun: BegunSignIn }> => {
  const begun = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier(), target };
  const url = buildAuthorizationUrl(await issuer.configuration(address), {
    redirect_uri: `${baseUrl}${CALLBACK}`,
    scope: issuer.scope,
    ...(issuer.audience !== '' && { audience: issuer.audience }),
    code_challenge: await calculatePKCECodeChallenge(begun.verifier),
    code_challenge_method: 'S256',
    state: begun.state,
    nonce: begun.nonce,
  });
  return { url, begun };
};

/**
 * Ends a sign-in: exchanges the code that came back for an access token.
 *
 * @throws {Error} when the answer belongs to another sign-in, or the issuer refuses or does not answer.
 */
export const endSignIn = async (
  issuer: IssuerClient,
  { state, nonce, verifier }: BegunSignIn,
  { url, address }: { readonly url: URL; readonly address: string },
): Promise<string> => {
  const tokens = await authorizationCodeGrant(await issuer.configuration(address), url, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  });
  return tokens.access_token;
};
