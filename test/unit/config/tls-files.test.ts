import { renameSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { configure } from '../../../services/config/configuration.js';
import { openTls, tlsOf } from '../../../services/config/tls-files.js';
import { certificates } from '../../support/servers/certificates.js';
import { until } from '../../support/until.js';

const made = certificates();

beforeAll(() => {
  made.authority('ours');
  made.authority('others');
});
afterAll(() => made.remove());

it('a certificate file that goes missing twice is reported each time, and so is its return', async () => {
  const [cert, away] = [made.file('ours.pem'), made.file('away.pem')];
  const tls = { cert_file: cert, key_file: made.file('ours.key') };
  /** The log entries, by level, and the reported outcomes. */
  const reports: string[] = [];
  const opened = openTls(configure([{ path: ['tls'], value: tls, origin: 'test' }]), {
    logger: { info: () => reports.push('info'), error: () => reports.push('error') },
    onReload: (outcome) => reports.push(outcome),
    everyMs: 5,
  });
  const reported = (times: number) =>
    until(
      () => Promise.resolve(reports),
      ({ length }) => length >= times,
      10_000,
    );
  renameSync(cert, away);
  await reported(2);
  renameSync(away, cert);
  await reported(3);
  renameSync(cert, away);
  await reported(5);
  opened?.close();
  expect(reports).toEqual(['failed', 'error', 'info', 'failed', 'error']);
});

it.each(['others.key', 'broken.pem'])('a file of client authorities is refused without a certificate: %s', (name) => {
  writeFileSync(made.file('broken.pem'), '-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n');
  const file = made.file(name);
  const tls = { cert_file: made.file('others.pem'), key_file: made.file('others.key'), client_ca_file: file };
  const configuration = configure([{ path: ['tls'], value: tls, origin: 'test' }]);
  expect(() => tlsOf(configuration)).toThrow(`tls.client_ca_file: ${file} has no certificate`);
});
