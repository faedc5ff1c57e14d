import type { Transport } from '../connection/connection.js';
import type { Profile } from '../connection/profile.js';
import { savedToken } from './saved-tokens.js';
import { neededText } from '../../needed-file.js';
import { tokenOf } from './token-command.js';
import { tokenText } from './token-text.js';

const tokenIn = (file: string): string => tokenText(neededText(file, 'an access token'), file);

/**
 * The token in the file of the profile, or the one that a person's sign-in has saved; `undefined` when there is none.
 *
 * @throws {OperatorError} when the file of the profile cannot be read, or has no token.
 */
export const tokenAtHand = ({ signIn, address }: Profile): string | undefined => {
  if (signIn.kind === 'token-file') return tokenIn(signIn.file);
  return signIn.kind === 'person' ? savedToken(address) : undefined;
};

/**
 * Gets an access token by the sign-in of the profile; `undefined` where a file has it, or a person has to sign in.
 *
 * @param refused the token that the server has refused, if one was sent.
 * @throws {OperatorError} when a command, the authorization server or the person gives none, with the reason.
 */
export const newToken = async (
  profile: Profile,
  transport: Transport,
  refused: string | undefined,
): Promise<string | undefined> => {
  const { signIn } = profile;
  switch (signIn.kind) {
    case 'token-file':
      return undefined;
    case 'command':
      return tokenOf(signIn.command, 'admin.command');
    case 'client-credentials':
      return (await import('./by-credentials.js')).byCredentials(signIn, profile, transport);
    case 'person':
      return (await import('./by-person.js')).byPerson(signIn.flow, profile, { transport, refused });
  }
};
