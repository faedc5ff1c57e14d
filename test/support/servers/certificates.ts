import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes certificate authorities and certificates that they sign, in a directory of its own. */
export const certificates = () => {
  const directory = mkdtempSync(join(tmpdir(), 'certificates-'));
  const file = (name: string): string => join(directory, name);
  const openssl = (...args: readonly string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  return {
    /** The path of a file in the directory. */
    file,
    /** Makes an authority: `NAME.pem` and `NAME.key`. */
    authority: (name: string): void =>
      openssl(
        'req',
        '-x509',
        ...newKey,
        '-days',
        '2',
        '-subj',
        `/CN=${name}`,
        '-keyout',
        file(`${name}.key`),
        '-out',
        file(`${name}.pem`),
      ),
    /**
     * Makes a certificate that an authority signs, valid for two days: `NAME.pem` and `NAME.key`.
     *
     * @param names alternative names beside `localhost` and 127.0.0.1, such as `URI:spiffe://a`.
     */
    issue: (authority: string, name: string, names: readonly string[] = []): void => {
      openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`));
      writeFileSync(file('names'), `subjectAltName=${['DNS:localhost', 'IP:127.0.0.1', ...names].join(',')}`);
      const ca = ['-CA', file(`${authority}.pem`), '-CAkey', file(`${authority}.key`), '-CAcreateserial'];
      openssl(
        'x509',
        '-req',
        '-days',
        '2',
        '-in',
        file(`${name}.csr`),
        ...ca,
        '-extfile',
        file('names'),
        '-out',
        file(`${name}.pem`),
      );
    },
    remove: (): void => rmSync(directory, { recursive: true }),
  };
};
