import { clientCredentialsGrant, ClientSecretBasic } from 'openid-client';
import { OperatorError } from '../../../config/operator-errors.js';
import type { Transport } from '../connection/connection.js';
import type { ClientCredentials, Profile } from '../connection/profile.js';
import { neededText } from '../../needed-file.js';
import { callIssuer, issuerFor, signInMetadata } from './issuer.js';

const secretOf = ({ secretFile = '', secretVariable }: ClientCredentials): string => {
  if (secretVariable !== undefined) {
    const secret = process.env[secretVariable];
    if (secret === undefined) throw new OperatorError(`${secretVariable} is not set: it must have the client's secret`);
    return secret;
  }
  return neededText(secretFile, 'the secret of the client').trim();
};

/**
 * Gets a token for the client of a profile.
 *
 * @throws {OperatorError} when its secret cannot be read, or the issuer gives no token.
 */
export const byCredentials = async (
  given: ClientCredentials,
  profile: Profile,
  transport: Transport,
): Promise<string> => {
  const metadata = await signInMetadata(transport);
  const client = { id: given.clientId, authentication: ClientSecretBasic(secretOf(given)) };
  const configuration = issuerFor(metadata, client, { profile, tokenUrl: given.tokenUrl });
  const scopes = given.scopes.length > 0 ? given.scopes : metadata.client.scopes;
  const audience = given.audience ?? metadata.client.audience;
  const { token_endpoint: url = '' } = configuration.serverMetadata();
  const { access_token: token } = await callIssuer(url, "check clientId and the client's secret", () =>
    clientCredentialsGrant(configuration, { scope: scopes.join(' '), ...(audience !== '' && { audience }) }),
  );
  return token;
};
