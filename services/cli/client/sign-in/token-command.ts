import { execFileSync } from 'node:child_process';
import { OperatorError } from '../../../config/operator-errors.js';
import { tokenText } from './token-text.js';

const outputOf = ([program = '', ...args]: readonly string[], key: string): string => {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['inherit', 'pipe', 'inherit'] });
  } catch (cause) {
    throw new OperatorError(`${program} gives no token: ${key} of the profile has failed`, { cause });
  }
};

/**
 * Runs a command of a profile, and returns the token that it prints.
 *
 * @param key the key of the profile, such as `admin.command`.
 * @throws {OperatorError} when the command fails, cannot be started, or prints something that is no token.
 */
export const tokenOf = (command: readonly string[], key: string): string => {
  if (command.length === 0) throw new OperatorError(`${key} of the profile has no command: it must print a token`);
  return tokenText(outputOf(command, key), `the output of ${key}`);
};
