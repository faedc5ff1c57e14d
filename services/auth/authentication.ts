import { hash } from 'node:crypto';
import type { Access } from '../kernel/access.js';
import { lru } from '../kernel/lru.js';
import {
  type Authentication,
  type Caller,
  type ClientCertificate,
  type Identity,
  NO_TOKEN,
  UNKNOWN_CERTIFICATE,
} from '../kernel/ports/authentication.js';
import type { CallerOfCertificate } from './certificates.js';
import { unauthenticated } from './tokens/refusal.js';
import type { TokenVerifier } from './tokens/verifier.js';

type Header = (name: string) => string | undefined;

type Certificate = (() => ClientCertificate | undefined) | undefined;

type Options = {
  readonly verifier: TokenVerifier;
  /** The header that is read for a token where `authorization` has none of a configured issuer. */
  readonly metadataKey: string;
  /** The number of verified tokens that are cached. */
  readonly cachedTokens: number;
  readonly accessOf: (identity: Identity) => Access;
  /** Absent where client certificates stand for no principals. */
  readonly callerOfCertificate?: CallerOfCertificate | undefined;
  readonly now: () => number;
};

/** A caller whose token was verified at the time `at`. */
type Remembered = { readonly caller: Caller; readonly at: number; readonly until: number };

/** White space around the value of a header is no part of it (RFC 9110, section 5.5); HTTP/2 leaves it there. */
const BEARER = /^[ \t]*bearer +(\S+)[ \t]*$/iu;

const bearerIn = (value: string | undefined): string | undefined => BEARER.exec(value ?? '')?.[1];

/**
 * Finds callers by their bearer tokens, or without one by their client certificate. A verified token is remembered by
 * its hash, for as long as the verifier allows. Concurrent calls with the same token share one verification.
 */
export const bearerAuthentication = (options: Options): Authentication => {
  const { verifier, metadataKey, accessOf, now } = options;
  const remembered = lru<string, Remembered>(options.cachedTokens);
  const verifying = new Map<string, Promise<Caller>>();

  const verify = async (token: string, key: string): Promise<Caller> => {
    const { identity, until } = await verifier.verify(token);
    const caller = { identity, access: accessOf(identity) };
    remembered.set(key, { caller, at: now(), until });
    return caller;
  };

  const verifyOnce = (token: string, key: string): Promise<Caller> => {
    const pending = verifying.get(key) ?? verify(token, key).finally(() => verifying.delete(key));
    verifying.set(key, pending);
    return pending;
  };

  /** The second header counts only where `authorization` has no token of a configured issuer. */
  const tokenIn = (authorization: string | undefined, header: Header): string | undefined => {
    const first = bearerIn(authorization);
    const second = bearerIn(header(metadataKey));
    if (first === undefined || second === undefined) return first ?? second;
    return verifier.isOurs(first) ? first : second;
  };

  /** False for a verification that has ended, and for one of a later time: the clock was set back. */
  const counts = ({ at, until }: Remembered): boolean => at <= now() && now() < until;

  // A comparison with the header of the last call costs a tenth of a hash, and an engine sends the same one each time.
  let last: (Remembered & { readonly authorization: string }) | undefined;

  const callerOfCertificate = (certificate: Certificate): Caller => {
    const { callerOfCertificate: find } = options;
    const found = find && certificate?.();
    if (!find || !found) throw unauthenticated(NO_TOKEN);
    const caller = find(found);
    if (!caller) throw unauthenticated(UNKNOWN_CERTIFICATE);
    return caller;
  };

  const callerOf = (
    authorization: string | undefined,
    header: Header,
    certificate: Certificate,
  ): Caller | Promise<Caller> => {
    const token = tokenIn(authorization, header);
    if (token === undefined) return callerOfCertificate(certificate);
    const key = hash('sha256', token, 'base64');
    const known = remembered.get(key);
    if (!known || !counts(known)) return verifyOnce(token, key);
    if (authorization !== undefined && bearerIn(authorization) === token) last = { ...known, authorization };
    return known.caller;
  };

  return {
    callerOf: (header, certificate) => {
      const authorization = header('authorization');
      if (last !== undefined && last.authorization === authorization && counts(last)) return last.caller;
      return callerOf(authorization, header, certificate);
    },
  };
};
