import { tokenRevocation } from 'openid-client';
import { OperatorError } from '../../../config/operator-errors.js';
import { transportTo } from '../connection/connect.js';
import type { Profile } from '../connection/profile.js';
import { codeOf, discoveredIssuer, signInMetadata } from './issuer.js';

const atIssuer = async <Answer>(issuer: string, ask: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await ask();
  } catch (cause) {
    throw new OperatorError(`${issuer}: ${codeOf(cause)}`, { cause });
  }
};

/**
 * Revokes a refresh token at the issuer of a server (RFC 7009).
 *
 * @returns the issuer.
 * @throws {Error} with the reason, when the server or the issuer does not answer, or the issuer revokes no tokens.
 */
export const revokeToken = async (profile: Profile, token: string): Promise<string> => {
  const transport = await transportTo(profile);
  try {
    const metadata = await signInMetadata(transport);
    const { issuer } = metadata.server;
    const configuration = await atIssuer(issuer, () => discoveredIssuer(metadata, profile));
    if (configuration.serverMetadata().revocation_endpoint === undefined)
      throw new OperatorError(`${issuer} has no revocation endpoint`);
    await atIssuer(issuer, () => tokenRevocation(configuration, token, { token_type_hint: 'refresh_token' }));
    return issuer;
  } finally {
    transport.close();
  }
};
