import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authoritiesIn } from '../../../services/config/authorities-file.js';
import { certificates } from '../../support/servers/certificates.js';

const made = certificates();

beforeAll(() => made.authority('ours'));
afterAll(() => made.remove());

describe('a file of certificate authorities', () => {
  it('is taken as it is', () => {
    const file = made.file('ours.pem');
    expect(authoritiesIn(file, 'kafka.tls_ca')).toBe(readFileSync(file, 'utf8'));
  });

  it('that is missing, or has no certificate, is refused with the setting', () => {
    expect(() => authoritiesIn('/no/such/file', 'kafka.tls_ca')).toThrow('kafka.tls_ca: cannot be read: ENOENT');
    const key = made.file('ours.key');
    expect(() => authoritiesIn(key, 'kafka.tls_ca')).toThrow(`kafka.tls_ca: ${key} has no certificate in PEM`);
  });
});
