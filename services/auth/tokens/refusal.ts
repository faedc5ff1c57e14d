import { errors } from 'jose';
import { RpcError } from '../../kernel/rpc.js';

/** UNAUTHENTICATED: the call has no valid token, password or client certificate. The reason must not show them. */
export const unauthenticated = (reason: string): RpcError => new RpcError('UNAUTHENTICATED', reason);

const CLAIMS: Readonly<Record<string, string>> = {
  aud: 'the token is for another audience',
  exp: 'the token has no expiry',
  iss: 'the token is of another issuer',
  nbf: 'the token is not valid yet',
};

const REASONS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'the token has expired',
  ERR_JOSE_ALG_NOT_ALLOWED: 'the token is signed with an algorithm that is not allowed',
  ERR_JWKS_NO_MATCHING_KEY: 'the token is signed with an unknown key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'the token does not name its key',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'the signature of the token is wrong',
};

const reasonOf = (error: errors.JOSEError): string => {
  if (error instanceof errors.JWTClaimValidationFailed && Object.hasOwn(CLAIMS, error.claim))
    return CLAIMS[error.claim] ?? '';
  return REASONS[error.code] ?? 'the token is malformed';
};

/** Converts an error of the verification to the refusal of the token; other errors stay as they are. */
export const refusalOf = (error: unknown): unknown =>
  error instanceof errors.JOSEError ? unauthenticated(reasonOf(error)) : error;
