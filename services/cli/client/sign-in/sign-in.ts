import { IdentityService } from '../../../../proto/gen/platformidl/service/identity_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import { connected, transportTo } from '../connection/connect.js';
import { type ConnectionFlags, type Profile, profileOf, type SignInFlow } from '../connection/profile.js';
import { print } from '../output/documents.js';
import { signInPerson } from './by-person.js';
import { forgetTokens } from './saved-tokens.js';

/** The flags of `sign-in`. */
export type SignInFlags = ConnectionFlags & { readonly device: boolean };

const BY_PROGRAM = {
  'token-file': 'the token comes from the file of --token-file or FLIGHTLOG_TOKEN_FILE',
  'client-credentials': 'the profile has credentials of a client (authType: ClientSecret, the default)',
  command: 'the profile has authType: ExternalCommand',
} as const;

/** @throws {OperatorError} when programs sign in at the server of the profile, and people do not. */
const flowOf = ({ signIn: by }: Profile, isDevice: boolean): SignInFlow => {
  if (by.kind !== 'person')
    throw new OperatorError(`${BY_PROGRAM[by.kind]}: leave it out, or set admin.authType: Pkce or DeviceFlow`);
  return isDevice ? 'device' : (by.flow ?? 'browser');
};

const serverOf = ({ address }: Profile): string => (address.kind === 'rest' ? address.url : address.target);

/**
 * Signs the person in at a server, and prints the name that the server knows them by.
 *
 * @throws {OperatorError} when the person does not sign in, or the server has no authentication.
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

/** Removes the tokens of the person for a server. */
export const signOut = (flags: ConnectionFlags): void => {
  const profile = profileOf(flags);
  const wasSignedIn = forgetTokens(profile.address);
  print(`${wasSignedIn ? 'signed out at' : 'not signed in at'} ${serverOf(profile)}`);
};
