import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { configure } from '../../../services/config/configuration.js';
import { allSettings, fromFile } from '../../../services/config/sources.js';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/operations/configuration.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'flightlog-configuration-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The key and the variable of each row of the tables. */
const rows = [...page.matchAll(/^\| `(?<key>[\w.]+)` +\| `(?<variable>FLIGHTLOG_\w+)` +\|/gmu)].map(
  ({ groups }) => `${groups?.['key']} ${groups?.['variable']}`,
);

const [, example = ''] = /```yaml\n(?<text># flightlog\.yaml.*?)```/su.exec(page) ?? [];

/** Reads an example as the server does. */
const read = (text: string) => {
  const file = join(folder, 'flightlog.yaml');
  writeFileSync(file, text);
  return configure(fromFile(file));
};

describe('the page of settings', () => {
  it('has a row for each setting, and for nothing else', () => {
    expect([...rows].sort()).toEqual(allSettings.map(({ path, variable }) => `${path.join('.')} ${variable}`).sort());
  });

  it('has an example file that the server reads', () => {
    expect(read(example)).toMatchObject({ host: '127.0.0.1', insecure: true, execution: { timeout: 86_400_000 } });
  });

  it('has commented lines in the example that the server reads too', () => {
    const uncommented = example.replaceAll(/^# (?=[ a-z]+[a-z_]*:)(?!.*node flightlog)/gmu, '');
    expect(read(uncommented)).toMatchObject({ role: ['api'], kafka: { replication_factor: 3 } });
  });
});
