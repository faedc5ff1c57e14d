import { denied, refusesCaller } from '../../kernel/permitted.js';
import type { AuditTrail } from '../../kernel/ports/audit-trail.js';
import type { Authentication, Caller, PasswordAuthentication } from '../../kernel/ports/authentication.js';
import type { Admissions, Admitted, AdmissionRequest } from './guard.js';

const EVERYWHERE = { project: '', domain: '' };

const BASIC = /^basic +(\S+) *$/iu;

/** The user and password of Basic credentials; `undefined` for others. */
const basicOf = (
  authorization: string | undefined,
): { readonly name: string; readonly password: string } | undefined => {
  const [, encoded] = BASIC.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [name = '', ...password] = Buffer.from(encoded, 'base64').toString().split(':');
  return { name, password: password.join(':') };
};

/** The user name with which official clients send a token as their password. */
const TOKEN_USER = 'token';

/** The status of a call, and the reason where it was refused. */
type Result = { readonly code: string; readonly reason: string };

/** The services that the admission of callers needs. */
export type AdmissionServices = {
  readonly authentication: Authentication;
  /** Knows users and clients by their passwords; absent without an authorization server in this process. */
  readonly passwords: PasswordAuthentication | undefined;
  /** True where a proxy in front adds the addresses of clients to `x-forwarded-for`. */
  readonly isBehindProxy: boolean;
  /** Gets the refused calls, and the ended calls that need the permission `admin`. */
  readonly audit: AuditTrail | undefined;
};

const forwardedIn = ({ forwardedFor }: AdmissionRequest): string | undefined => forwardedFor?.split(',').at(-1)?.trim();

/**
 * The caller of a call: by a token, also one in place of a password; by a user name and password; without any of these,
 * by a client certificate.
 */
const callerOf = async (call: AdmissionRequest, services: AdmissionServices): Promise<Caller> => {
  const { authentication, passwords, isBehindProxy } = services;
  const { authorization, peer } = call;
  const basic = basicOf(authorization);
  const isToken = basic === undefined || basic.name === TOKEN_USER || !passwords;
  // A proxy that does not name its clients would be one address for all of them: failures count against the name alone.
  if (!isToken) return passwords.callerOf({ ...basic, address: isBehindProxy ? forwardedIn(call) : peer });
  const header = basic === undefined ? authorization : `Bearer ${basic.password}`;
  return authentication.callerOf(
    (name) => (name === 'authorization' ? header : undefined),
    () => call.certificate,
  );
};

const UNKNOWN: Admitted = { principal: '', issuer: '', clientId: '', expiresAt: undefined };

/** Admits callers with valid credentials and the permission in every project. */
export const admitting = (services: AdmissionServices): Admissions => {
  const { isBehindProxy, audit } = services;
  const record = (
    call: AdmissionRequest,
    { principal, issuer, clientId }: Admitted,
    { code, reason }: Result,
  ): void => {
    const address = (isBehindProxy ? forwardedIn(call) : undefined) ?? call.peer;
    const now = Date.now();
    audit?.record({
      ...{ kind: 'call', atMs: now, lastAtMs: now, count: 1, code, reason, action: call.path, address },
      ...{ transport: 'eventstoredb', principal, issuer, clientId, project: '', domain: '', name: '' },
      ...{ requestId: '', position: undefined },
    });
  };
  return {
    admit: async (call) => {
      let admitted = UNKNOWN;
      try {
        const { identity, access } = await callerOf(call, services);
        const { principal, issuer, clientId, expiresAt } = identity;
        admitted = { principal, issuer, clientId, expiresAt };
        if (!access.may(call.permission, '', '')) throw denied(call.permission, EVERYWHERE);
        return admitted;
      } catch (error) {
        if (refusesCaller(error)) record(call, admitted, { code: error.code, reason: error.message });
        throw error;
      }
    },
    ended: (call, caller, code) => {
      if (call.permission === 'admin') record(call, caller, { code, reason: '' });
    },
  };
};
