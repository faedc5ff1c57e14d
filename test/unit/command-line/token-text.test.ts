import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { transportTo } from '../../../services/cli/client/connection/connect.js';
import { profileIn } from '../../../services/cli/client/connection/profile-file.js';
import { profileOf } from '../../../services/cli/client/connection/profile-of.js';
import { tokenAtHand } from '../../../services/cli/client/sign-in/token.js';
import { tokenOf } from '../../../services/cli/client/sign-in/token-command.js';
import { controlPlaneOf } from '../../../services/cli/control-plane.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-token-'));
const file = join(folder, 'token');
afterAll(() => rmSync(folder, { recursive: true }));

/** The end of the refusals. */
const RULE = 'has no token: it must be one line of ASCII characters, without spaces';

/** The token that a file with this text has. */
const inFile = (text: string): string | undefined => {
  writeFileSync(file, text);
  return tokenAtHand(profileOf({ server: 'http://127.0.0.1:1', tokenFile: file }, {}));
};

describe('a token', () => {
  it('is read without the end of its line', () => {
    expect(inFile('ab.c-_~+/=\n')).toBe('ab.c-_~+/=');
    expect(tokenOf(['echo', 'abc'], 'admin.command')).toBe('abc');
  });

  it.each([
    ['empty', '\n'],
    ['of two lines', 'a\nb'],
    ['with other characters', 'tök€n'],
  ])('is refused when it is %s, because no header can contain it', (_, text) => {
    expect(() => inFile(text)).toThrow(`${file} ${RULE}`);
    expect(() => tokenOf(['printf', text], 'admin.command')).toThrow(`the output of admin.command ${RULE}`);
  });

  it('is refused when the profile has no command that prints one', () => {
    expect(() => tokenOf([], 'admin.command')).toThrow('admin.command of the profile has no command');
  });
});

it('a file of certificates that cannot be read is named', async () => {
  const profile = profileIn(`admin: { endpoint: 'a:1', caCertFilePath: ${folder}/none }`, 'config.yaml');
  await expect(transportTo(profile)).rejects.toThrow(
    `${folder}/none cannot be read: it must have certificates in PEM (ENOENT: no such file or directory`,
  );
});

it.each(['', '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n'])(
  'a file without a certificate is named where certificates are needed: %j',
  async (text) => {
    writeFileSync(file, text);
    const profile = profileIn(`admin: { endpoint: 'a:1', caCertFilePath: ${file} }`, 'config.yaml');
    await expect(transportTo(profile)).rejects.toThrow(`${file} has no certificate in PEM, which it must have`);
    const options = { endpoint: 'a:1', tls: true, caFile: file, tokenFile: '', clientId: '' };
    expect(() => controlPlaneOf({ ...options, clientSecretFile: '', tokenUrl: '' }, undefined as never)).toThrow(
      `${file} has no certificate in PEM`,
    );
  },
);
