import { execFileSync } from 'node:child_process';
import { OperatorError } from '../../../config/operator-errors.js';

/**
 * Runs a command of a profile, and returns the token that it prints.
 *
 * @param key the key of the profile, such as `admin.command`.
 * @throws {OperatorError} when the command fails or cannot be started.
 */
export const tokenOf = ([program = '', ...args]: readonly string[], key: string): string => {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['inherit', 'pipe', 'inherit'] }).trim();
  } catch (cause) {
    throw new OperatorError(`${program} gives no token: ${key} of the profile has failed`, { cause });
  }
};
