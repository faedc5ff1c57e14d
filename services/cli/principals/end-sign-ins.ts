import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-errors.js';
import { errorText } from '../../kernel/error-text.js';
import { openState } from '../../main/access/authorization-server.js';
import { STATE_FILE } from '../../store/authorization/sqlite-authorization-state.js';

type Settings = Pick<Configuration, 'data' | 'auth'>;

/** False when no authorization server has run on the data directory: the command makes no file of its state. */
const hasState = ({ data, auth: { server } }: Settings): boolean =>
  server.state_store.kind !== 'sqlite' || existsSync(join(resolve(data), STATE_FILE));

const removeAccount = async (settings: Settings, name: string): Promise<void> => {
  const state = await openState(settings);
  try {
    await state.removeAccount(name);
  } finally {
    await state.close();
  }
};

/**
 * Ends the sign-ins of a user: refresh tokens, unused codes and the session of the sign-in page are refused from then
 * on. Access tokens stay valid until they expire.
 *
 * @throws {OperatorError} when the state of the authorization server cannot be changed; it says that the user is.
 */
export const endSignIns = async (settings: Settings, name: string): Promise<void> => {
  if (!hasState(settings)) return;
  try {
    await removeAccount(settings, name);
  } catch (cause) {
    throw new OperatorError(`the change is made, but the sign-ins of ${name} are not ended: ${errorText(cause)}`, {
      cause,
    });
  }
};
