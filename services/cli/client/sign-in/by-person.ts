import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type Configuration,
  initiateDeviceAuthorization,
  None,
  pollDeviceAuthorizationGrant,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  type TokenEndpointResponse,
} from 'openid-client';
import { OperatorError } from '../../../config/operator-errors.js';
import type { Transport } from '../connection/connection.js';
import type { Profile, Way } from '../connection/profile.js';
import { oneLine } from '../output/text.js';
import { openInBrowser, returnFromBrowser } from './browser.js';
import { asking, issuerFor, signInMetadata } from './issuer.js';
import { savedTokens, saveTokens } from './saved-tokens.js';

const MS_A_SECOND = 1_000;
const DEFAULT_LIFETIME_S = 300;

/** The issuer with the client of people, and what is asked for with each request. */
type Issuer = {
  readonly configuration: Configuration;
  readonly redirectUri: string;
  readonly parameters: Readonly<Record<string, string>>;
};

const say = (text: string): void => void process.stderr.write(`${oneLine(text)}\n`);

/** The code flow with PKCE (RFC 7636): the browser comes back to an address of this machine. */
const byBrowser = async ({ configuration, redirectUri, parameters }: Issuer): Promise<TokenEndpointResponse> => {
  const [verifier, state] = [randomPKCECodeVerifier(), randomState()];
  const address = buildAuthorizationUrl(configuration, {
    ...parameters,
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const returned = await returnFromBrowser(new URL(redirectUri), state, () => {
    say(`Sign in at ${address.href}`);
    openInBrowser(address);
  });
  return authorizationCodeGrant(configuration, returned, { pkceCodeVerifier: verifier, expectedState: state });
};

/** The device flow (RFC 8628): the person enters a code in a browser on another machine. */
const byDevice = async ({ configuration, parameters }: Issuer): Promise<TokenEndpointResponse> => {
  const device = await initiateDeviceAuthorization(configuration, parameters);
  say(`Sign in at ${device.verification_uri} with the code ${device.user_code}`);
  return pollDeviceAuthorizationGrant(configuration, device);
};

const WAYS = { browser: byBrowser, device: byDevice } as const;

const issuerOf = async (profile: Profile, transport: Transport): Promise<Issuer> => {
  const metadata = await signInMetadata(transport);
  const { clientId, redirectUri, scopes, audience } = metadata.client;
  if (clientId === '') throw new OperatorError('the server names no client for people: use --token-file');
  return {
    configuration: issuerFor(metadata, { id: clientId, authentication: None() }, { profile }),
    redirectUri,
    parameters: { scope: scopes.join(' '), ...(audience !== '' && { audience }) },
  };
};

/** Uses the refresh token that was saved; `undefined` when there is none, or the issuer no longer takes it. */
const refreshed = async (
  { configuration, parameters }: Issuer,
  refreshToken: string | undefined,
): Promise<TokenEndpointResponse | undefined> => {
  if (refreshToken === undefined) return undefined;
  return refreshTokenGrant(configuration, refreshToken, parameters).catch(() => undefined);
};

/**
 * Gets a token for a person, by the refresh token of an earlier sign-in where there is one, and saves it.
 *
 * @throws {OperatorError} when the person does not sign in, or the issuer gives no token.
 */
export const byPerson = async (way: Way, profile: Profile, transport: Transport): Promise<string> => {
  const issuer = await issuerOf(profile, transport);
  const { issuer: name } = issuer.configuration.serverMetadata();
  const known = savedTokens(profile.address)?.refreshToken;
  const tokens =
    (await refreshed(issuer, known)) ??
    (await asking(name, 'run the command again to sign in', () => WAYS[way](issuer)));
  const refreshToken = tokens.refresh_token ?? known;
  saveTokens(profile.address, {
    accessToken: tokens.access_token,
    expiresAt: Date.now() + (tokens.expires_in ?? DEFAULT_LIFETIME_S) * MS_A_SECOND,
    ...(refreshToken !== undefined && { refreshToken }),
  });
  return tokens.access_token;
};
