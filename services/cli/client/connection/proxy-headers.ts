import { tokenOf } from '../sign-in/token-command.js';
import type { Headers } from './connection.js';
import type { Proxy } from './profile.js';

const tokens = new WeakMap<readonly string[], string>();

/**
 * The header that a proxy on the way asks for; empty without one. The command runs once for each profile
 * that was read, which may be the same file again.
 *
 * @throws {OperatorError} when the command fails.
 */
export const proxyHeaders = ({ command }: Proxy): Headers => {
  if (command === undefined || command.length === 0) return {};
  const token = tokens.get(command) ?? tokenOf(command, 'admin.proxyCommand');
  tokens.set(command, token);
  return { 'proxy-authorization': `Bearer ${token}` };
};
