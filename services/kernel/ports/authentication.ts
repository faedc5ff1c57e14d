import type { KeyObject } from 'node:crypto';

import type { Access } from '../access.js';

/** An authenticated caller: what a verified token, password, secret or client certificate says about it. */
export type Identity = {
  /** The subject; of a client that acts for itself and has no subject, its client id. */
  readonly principal: string;
  readonly issuer: string;
  /** Empty where the token names no client. */
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** All claims of the token, or subject and roles without one; for roles by claim and for `UserInfo`. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** In milliseconds since 1970; `undefined` for an identity without an end. */
  readonly expiresAt: number | undefined;
};

/** The names in a client certificate that the handshake of TLS has verified. */
export type ClientCertificate = {
  /** Empty when there is none, or several. */
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  readonly uris: readonly string[];
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
};

/** An authenticated caller, and what it may do. */
export type Caller = { readonly identity: Identity; readonly access: Access };

/** An issuer in this process, such as the authorization server: its tokens are verified with keys at hand. */
export interface LocalIssuer {
  /** The `iss` of its tokens. Read at every new token, because a port may be known only after the start. */
  readonly issuer: string;
  /** A token must name at least one of these in `aud`. */
  readonly audience: readonly string[];
  /** Signature algorithms of its tokens, such as `ES256`; symmetric ones are refused. */
  readonly algorithms: readonly string[];
  /** Finds the public key of a token by its `kid`; `undefined` when there is none. */
  keyOf(keyId: string): Promise<KeyObject | undefined>;
}

/** The text of UNAUTHENTICATED for a call without a token. */
export const NO_TOKEN = 'the request has no bearer token';

/** The text of UNAUTHENTICATED for a call without a token, whose client certificate names no caller. */
export const UNKNOWN_CERTIFICATE =
  'no rule of auth.certificates matches the client certificate, and there is no bearer token';

/** Authenticates callers. */
export interface Authentication {
  /**
   * The caller that the headers of a call name: at once for a token that was verified before. Without a token it is the
   * one that the client certificate stands for.
   *
   * @throws {RpcError} also as a rejection: UNAUTHENTICATED when the token is not valid, or there is none and the
   * certificate names no caller or has expired; UNAVAILABLE when the issuer of the token must be asked and cannot be
   * reached.
   * @throws {StoreUnavailable} as a rejection, when the keys of the authorization server must be read and cannot be.
   */
  callerOf(
    header: (name: string) => string | undefined,
    certificate?: () => ClientCertificate | undefined,
  ): Caller | Promise<Caller>;
}

/** A name and its password, and the address from which they came, where it is known. */
export type Credentials = {
  readonly name: string;
  readonly password: string;
  readonly address: string | undefined;
};

/** Authenticates callers that send a name and a password with each call. */
export interface PasswordAuthentication {
  /**
   * The user or client of the credentials.
   *
   * @throws {RpcError} UNAUTHENTICATED when there is no such name or the password is wrong; RESOURCE_EXHAUSTED after
   * too many failures, or while too many passwords are being checked.
   * @throws {StoreUnavailable} when the file of users or clients cannot be read.
   */
  callerOf(credentials: Credentials): Promise<Caller>;
}
