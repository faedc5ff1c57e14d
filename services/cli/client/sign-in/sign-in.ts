import { tokenRevocation } from 'openid-client';
import { IdentityService } from '../../../../proto/gen/platformidl/service/identity_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import { connected, transportTo } from '../connection/connect.js';
import { type ConnectionFlags, type Profile, serverOf, type SignInFlow } from '../connection/profile.js';
import { profileOf } from '../connection/profile-of.js';
import { print } from '../output/documents.js';
import { oneLine } from '../output/text.js';
import { signInPerson, takeTokens } from './by-person.js';
import { codeOf, discoveredIssuer, signInMetadata } from './issuer.js';
import { errorText } from '../../../kernel/error-text.js';

const atIssuer = async <Answer>(issuer: string, request: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await request();
  } catch (cause) {
    throw new OperatorError(`${issuer}: ${codeOf(cause)}`, { cause });
  }
};

/**
 * Revokes a refresh token at the issuer of a server (RFC 7009).
 *
 * @returns the issuer.
 * @throws {Error} with the reason, when the server or the issuer does not answer, the server names no issuer, or the
 * issuer refuses or revokes no tokens.
 */
const revokeToken = async (profile: Profile, token: string): Promise<string> => {
  const transport = await transportTo(profile);
  try {
    const metadata = await signInMetadata(transport);
    const { issuer } = metadata.server;
    if (issuer === '') throw new OperatorError('the server names no issuer: it has no authentication by tokens');
    const configuration = await atIssuer(issuer, () => discoveredIssuer(metadata, profile));
    if (configuration.serverMetadata().revocation_endpoint === undefined)
      throw new OperatorError(`${issuer} has no revocation endpoint`);
    await atIssuer(issuer, () => tokenRevocation(configuration, token, { token_type_hint: 'refresh_token' }));
    return issuer;
  } finally {
    transport.close();
  }
};

/** The flags of `sign-in`. */
export type SignInFlags = ConnectionFlags & { readonly device: boolean };

/** The reason that no person signs in with a profile, and what to do, by the kind of its sign-in. */
const BY_PROGRAM = {
  'token-file': 'the token comes from the file of --token-file or FLIGHTLOG_TOKEN_FILE: leave these out',
  'client-credentials':
    'the profile has credentials of a client (authType: ClientSecret, the default): set admin.authType: Pkce or DeviceFlow',
  command: 'the profile has authType: ExternalCommand: set admin.authType: Pkce or DeviceFlow',
} as const;

/** @throws {OperatorError} when the profile gets its token from a file, from client credentials or by a command. */
const flowOf = ({ signIn: by }: Profile, isDevice: boolean): SignInFlow => {
  if (by.kind !== 'person') throw new OperatorError(BY_PROGRAM[by.kind]);
  return isDevice ? 'device' : (by.flow ?? 'browser');
};

/**
 * Signs the person in at a server, and prints the name that the server knows them by.
 *
 * @throws {OperatorError} when the person does not sign in, the server signs no people in, or the profile gets its
 * token in another way.
 */
export const signIn = async ({ device, ...flags }: SignInFlags): Promise<void> => {
  const profile = profileOf(flags);
  const flow = flowOf(profile, device);
  const transport = await transportTo(profile);
  try {
    await signInPerson(flow, profile, transport);
  } finally {
    transport.close();
  }
  await connected(flags, async (connection) => {
    const { subject, preferredUsername } = await connection.call(IdentityService.method.userInfo, {});
    print(`signed in at ${serverOf(profile)} as ${preferredUsername || subject}`);
  });
};

/**
 * Removes the tokens of the person for a server, and then revokes the refresh token at the issuer that the server
 * names. When that fails, a line on standard error says why; the person is signed out on this machine all the same.
 *
 * @throws {OperatorError} when the tokens cannot be removed.
 */
export const signOut = async (flags: ConnectionFlags): Promise<void> => {
  const profile = profileOf(flags);
  const tokens = await takeTokens(profile);
  print(`${tokens ? 'signed out at' : 'not signed in at'} ${serverOf(profile)}`);
  if (tokens?.refreshToken === undefined) return;
  try {
    print(`revoked the refresh token at ${await revokeToken(profile, tokens.refreshToken)}`);
  } catch (error) {
    process.stderr.write(`${oneLine(`flightlog: the refresh token is not revoked: ${errorText(error)}`)}\n`);
  }
};
