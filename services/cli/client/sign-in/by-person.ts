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
import type { Profile, SignInFlow } from '../connection/profile.js';
import { oneLine } from '../output/text.js';
import { openInBrowser, returnFromBrowser } from './browser.js';
import { callIssuer, issuerFor, signInMetadata } from './issuer.js';
import { forgetTokens, type SavedTokens, savedToken, savedTokens, saveTokens, tokensFile } from './saved-tokens.js';
import { withTokenLock } from './token-lock.js';

const MS_A_SECOND = 1_000;
/** The lifetime of a token whose issuer does not give one, in seconds. */
const DEFAULT_LIFETIME_S = 300;

/** The issuer with the client of people, and what is asked for with each request. */
type Issuer = {
  readonly configuration: Configuration;
  readonly redirectUri: string;
  readonly parameters: Readonly<Record<string, string>>;
};

const lockFile = (): string => `${tokensFile()}.lock`;

const printNote = (text: string): void => void process.stderr.write(`${oneLine(text)}\n`);

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
    printNote(`Sign in at ${address.href}`);
    openInBrowser(address);
  });
  return authorizationCodeGrant(configuration, returned, { pkceCodeVerifier: verifier, expectedState: state });
};

/** The device flow (RFC 8628): the person enters a code in a browser on any machine. */
const byDevice = async ({ configuration, parameters }: Issuer): Promise<TokenEndpointResponse> => {
  const device = await initiateDeviceAuthorization(configuration, parameters);
  printNote(`Sign in at ${device.verification_uri} with the code ${device.user_code}`);
  return pollDeviceAuthorizationGrant(configuration, device);
};

const FLOWS = { browser: byBrowser, device: byDevice } as const;

const issuerOf = async (profile: Profile, transport: Transport): Promise<Issuer> => {
  const metadata = await signInMetadata(transport);
  const { clientId, redirectUri, scopes, audience } = metadata.client;
  if (clientId === '') throw new OperatorError('the server signs no people in: it has no authentication by tokens');
  return {
    configuration: issuerFor(metadata, { id: clientId, authentication: None() }, { profile }),
    redirectUri,
    parameters: { scope: scopes.join(' '), ...(audience !== '' && { audience }) },
  };
};

const save = ({ address }: Profile, tokens: TokenEndpointResponse, known?: string): string => {
  const refreshToken = tokens.refresh_token ?? known;
  saveTokens(address, {
    accessToken: tokens.access_token,
    expiresAt: Date.now() + (tokens.expires_in ?? DEFAULT_LIFETIME_S) * MS_A_SECOND,
    ...(refreshToken !== undefined && { refreshToken }),
  });
  return tokens.access_token;
};

/**
 * Uses the refresh token that was saved; `undefined` when there is none, or the issuer gives no token for it, for
 * whatever reason.
 */
const renewed = async (profile: Profile, transport: Transport): Promise<string | undefined> => {
  const known = savedTokens(profile.address)?.refreshToken;
  if (known === undefined) return undefined;
  const { configuration, parameters } = await issuerOf(profile, transport);
  const tokens = await refreshTokenGrant(configuration, known, parameters).catch(() => undefined);
  return tokens && save(profile, tokens, known);
};

const signInAs = async (flow: SignInFlow, profile: Profile, transport: Transport): Promise<string> => {
  const issuer = await issuerOf(profile, transport);
  const { issuer: name } = issuer.configuration.serverMetadata();
  return save(profile, await callIssuer(name, 'run the command again to sign in', () => FLOWS[flow](issuer)));
};

/**
 * Signs a person in, and saves the tokens.
 *
 * @throws {OperatorError} when the person does not sign in, or the issuer gives no token.
 */
export const signInPerson = (flow: SignInFlow, profile: Profile, transport: Transport): Promise<string> =>
  withTokenLock(lockFile(), () => signInAs(flow, profile, transport));

/**
 * Gets a token for a person: the saved one if it is still valid and was not refused, otherwise one by the saved refresh
 * token, otherwise one by a sign-in with the flow; `undefined` when there is none.
 *
 * @param refused the token that the server has refused: another command may have got the next one meanwhile.
 * @throws {OperatorError} when the person does not sign in, or the issuer gives no token.
 */
export const byPerson = (
  flow: SignInFlow | undefined,
  profile: Profile,
  { transport, refused }: { readonly transport: Transport; readonly refused: string | undefined },
): Promise<string | undefined> =>
  withTokenLock(lockFile(), async () => {
    const saved = savedToken(profile.address);
    if (saved !== undefined && saved !== refused) return saved;
    return (await renewed(profile, transport)) ?? (flow && signInAs(flow, profile, transport));
  });

/** Removes the tokens that were saved for a server, and returns them; `undefined` when there were none. */
export const takeTokens = ({ address }: Profile): Promise<SavedTokens | undefined> =>
  withTokenLock(lockFile(), () => Promise.resolve(forgetTokens(address)));
