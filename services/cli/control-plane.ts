import type { Logger } from 'pino';
import { clientToken } from '../../engine/tokens/client-credentials.js';
import type { ControlPlane } from '../../engine/control-plane.js';
import { fileToken, type GetToken } from '../../engine/tokens/token.js';
import { OperatorError } from '../config/operator-errors.js';
import { neededCertificates, neededText } from './needed-file.js';

/** Options of an engine or a bridge for reaching the control plane. An empty text is an option that was not given. */
export type ControlPlaneOptions = {
  readonly endpoint: string;
  readonly tls: boolean;
  readonly caFile: string;
  readonly tokenFile: string;
  readonly clientId: string;
  readonly clientSecretFile: string;
  readonly tokenUrl: string;
};

const tokensOf = (options: ControlPlaneOptions, plane: ControlPlane, logger: Logger): GetToken | undefined => {
  const { tokenFile, clientId: id, clientSecretFile, tokenUrl } = options;
  if (tokenFile === '' && id === '') return undefined;
  if (tokenFile !== '' && id !== '')
    throw new OperatorError('a file with a token and a client are given: leave one out');
  const onFailure = (err: Error): void => logger.warn({ err }, 'no access token; trying again');
  if (tokenFile !== '') {
    neededText(tokenFile, 'an access token');
    return fileToken(tokenFile, onFailure);
  }
  if (clientSecretFile === '') throw new OperatorError(`the client ${id} needs a file with its secret`);
  const secret = (): string => neededText(clientSecretFile, 'the secret of the client').trim();
  secret();
  return clientToken(plane, { id, secret, tokenUrl: tokenUrl === '' ? undefined : tokenUrl }, onFailure);
};

/**
 * The control plane that the options name.
 *
 * @throws {OperatorError} when a file cannot be read or has no certificate, a client has no file with its secret, or
 * the options contradict each other.
 */
export const controlPlaneOf = (options: ControlPlaneOptions, logger: Logger): ControlPlane => {
  const { endpoint, tls, caFile } = options;
  const ca = caFile === '' ? {} : { ca: neededCertificates(caFile) };
  const plane: ControlPlane = { endpoint, ...((tls || caFile !== '') && { tls: ca }) };
  return { ...plane, getToken: tokensOf(options, plane, logger) };
};
