import type { Access } from '../kernel/access.js';
import type { Caller, ClientCertificate, Identity } from '../kernel/ports/authentication.js';
import { unauthenticated } from './tokens/refusal.js';

/** The issuer of identities of client certificates, in grants and role bindings. */
export const CERTIFICATE_ISSUER = 'certificate';

/** Maps client certificates with these names to a principal. A name that is not given matches every certificate. */
export type CertificateRule = {
  readonly common_name?: string | undefined;
  readonly uri?: string | undefined;
  readonly dns?: string | undefined;
  readonly principal: string;
  /** The claim `roles` of the identity: each role holds in every project and domain. */
  readonly roles: readonly string[];
};

type Options = {
  readonly rules: readonly CertificateRule[];
  readonly accessOf: (identity: Identity) => Access;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/**
 * Finds the caller of a client certificate; `undefined` for a certificate that no rule matches.
 *
 * @throws {RpcError} UNAUTHENTICATED for a certificate that has expired.
 */
export type CallerOfCertificate = (certificate: ClientCertificate) => Caller | undefined;

const matches = ({ common_name: commonName, uri, dns }: CertificateRule, certificate: ClientCertificate): boolean =>
  (commonName === undefined || commonName === certificate.commonName) &&
  (uri === undefined || certificate.uris.includes(uri)) &&
  (dns === undefined || certificate.dnsNames.includes(dns));

const identityOf = ({ principal, roles }: CertificateRule, { expiresAt }: ClientCertificate): Identity => ({
  principal,
  issuer: CERTIFICATE_ISSUER,
  clientId: '',
  scopes: [],
  claims: { sub: principal, roles },
  expiresAt,
});

/** Finds callers by the first rule that matches their certificate, and remembers them with the certificate. */
export const certificateCallers = ({ rules, accessOf, now }: Options): CallerOfCertificate => {
  const known = new WeakMap<ClientCertificate, Caller>();
  const find = (certificate: ClientCertificate): Caller | undefined => {
    const rule = rules.find((each) => matches(each, certificate));
    const identity = rule && identityOf(rule, certificate);
    return identity && { identity, access: accessOf(identity) };
  };
  return (certificate) => {
    const caller = known.get(certificate) ?? find(certificate);
    if (!caller) return undefined;
    if (certificate.expiresAt <= now()) throw unauthenticated('the client certificate has expired');
    known.set(certificate, caller);
    return caller;
  };
};
