import { tokenOf } from '../sign-in/token-command.js';
import type { Headers } from './connection.js';
import type { Proxy } from './profile.js';

const tokens = new WeakMap<readonly string[], string>();

/**
 * The header with the token for a proxy between this machine and the server; empty without a command that prints the
 * token. The command runs once for each time that a profile was read.
 *
 * @throws {OperatorError} when the command fails, or prints something that is no token.
 */
export const proxyHeaders = ({ command }: Proxy): Headers => {
  if (command === undefined || command.length === 0) return {};
  const token = tokens.get(command) ?? tokenOf(command, 'admin.proxyCommand');
  tokens.set(command, token);
  return { 'proxy-authorization': `Bearer ${token}` };
};
