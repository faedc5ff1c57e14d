import { describe, expect, it } from 'vitest';

import { tlsProblem } from '../../../services/kernel/tls-problem.js';

/** Texts for a server without TLS, and for a certificate that is not trusted. */
const advice = { plain: 'speak without', untrusted: 'trust it' };

describe('the error of a driver whose connection fails', () => {
  it.each([
    [
      'error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../ssl3_record.c:350',
      'the server does not speak TLS: speak without',
    ],
    [
      'Last error: Error: self-signed certificate in certificate chain. Resolution',
      'the certificate of the server is not trusted (self-signed certificate): trust it',
    ],
    [
      "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1",
      "the certificate of the server is not trusted (does not match certificate's altnames): trust it",
    ],
    ['certificate has expired', 'the certificate of the server is not trusted (certificate has expired): trust it'],
  ])('says of %j what to change', (text, told) => expect(tlsProblem(text, advice)).toBe(told));

  it.each(['connect ECONNREFUSED 127.0.0.1:1', 'Protocol error', 'Closed connection', ''])(
    'is not about TLS in %j',
    (text) => expect(tlsProblem(text, advice)).toBeUndefined(),
  );
});
