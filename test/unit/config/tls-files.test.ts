import { renameSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { configure } from '../../../services/config/configuration.js';
import { openTls } from '../../../services/config/tls-files.js';
import { certificates } from '../../support/servers/certificates.js';
import { until } from '../../support/until.js';

const made = certificates();

beforeAll(() => made.authority('ours'));
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
