import { describe, expect, it } from 'vitest';

import { certificateCallers } from '../../../services/auth/certificates.js';
import { UNLIMITED } from '../../../services/kernel/access.js';
import { clientCertificateOf } from '../../../services/gateway/client-certificate.js';

const EXPIRES_AT_MS = 10_000;

/** A certificate with these alternative names, as Node writes them, that expires at {@link EXPIRES_AT_MS}. */
const certificateWith = (subjectaltname: string | undefined, names: string | readonly string[] = 'ada') =>
  clientCertificateOf({
    subject: { CN: names },
    subjectaltname,
    valid_to: 'Jan  1 00:00:10 1970 GMT',
  });

describe('the names of a client certificate', () => {
  it('are its common name, DNS names and URIs', () => {
    expect(certificateWith('DNS:a.example, IP Address:127.0.0.1, URI:spiffe://b/c, DNS:d.example')).toEqual({
      ...{ commonName: 'ada', dnsNames: ['a.example', 'd.example'], uris: ['spiffe://b/c'], expiresAt: EXPIRES_AT_MS },
    });
    expect(certificateWith(undefined)).toMatchObject({ dnsNames: [], uris: [] });
  });

  it('may have a comma when they are in quotes; a quote in one without quotes leaves no alternative names', () => {
    expect(certificateWith('URI:"http://a, DNS:admin.example", DNS:b')).toMatchObject({
      ...{ uris: ['http://a, DNS:admin.example'], dnsNames: ['b'] },
    });
    expect(certificateWith('DNS:a" x, DNS:b')).toMatchObject({ dnsNames: [] });
  });

  it('may be escaped, as Node escapes commas, quotes and backslashes', () => {
    expect(
      certificateWith(String.raw`URI:"spiffe://b/x\u002cy", DirName:"CN=Ann\\\u002c b", DNS:c.example`),
    ).toMatchObject({
      ...{ uris: ['spiffe://b/x,y'], dnsNames: ['c.example'] },
    });
    expect(certificateWith(String.raw`URI:"a\"b, DNS:admin.example"`)).toMatchObject({
      ...{ uris: ['a"b, DNS:admin.example'], dnsNames: [] },
    });
  });

  it('have an empty common name when the subject has several', () => {
    expect(certificateWith('DNS:a', ['ada', 'root'])).toMatchObject({ commonName: '' });
  });
});

describe('the caller of a client certificate', () => {
  const clock = { now: 0 };
  const callerOf = certificateCallers({
    rules: [
      { uri: 'spiffe://engine', principal: 'engine', roles: ['engine'] },
      { common_name: 'ada', dns: 'ada.example', principal: 'ada', roles: [] },
    ],
    accessOf: () => UNLIMITED,
    now: () => clock.now,
  });
  const principalOf = (names: string): string | undefined => callerOf(certificateWith(names))?.identity.principal;

  it('is the principal of the first rule of which the certificate has every name', () => {
    expect(principalOf('URI:spiffe://engine, DNS:ada.example')).toBe('engine');
    expect(principalOf('DNS:ada.example')).toBe('ada');
    expect(principalOf('DNS:other.example')).toBeUndefined();
  });

  it('is refused once the certificate has expired', () => {
    const certificate = certificateWith('URI:spiffe://engine');
    expect(callerOf(certificate)).toMatchObject({ identity: { issuer: 'certificate', expiresAt: EXPIRES_AT_MS } });
    clock.now = EXPIRES_AT_MS;
    expect(() => callerOf(certificate)).toThrow('the client certificate has expired');
  });
});
