import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { configure } from '../../../services/config/configuration.js';
import { fromFile } from '../../../services/config/sources.js';
import {
  exampleFile,
  misplacedSettings,
  NO_DEFAULT,
  settingsPage,
} from '../../support/documents/settings-reference.js';

const ROOT = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(ROOT, 'docs/operations/configuration.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'flightlog-configuration-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The example of a configuration file on that page. */
const [, example = ''] = /```yaml\n(?<text># flightlog\.yaml.*?)```/su.exec(page) ?? [];

/** Reads the text of a configuration file as the server does. */
const read = (text: string) => {
  const file = join(folder, 'flightlog.yaml');
  writeFileSync(file, text);
  return configure(fromFile(file));
};

describe('the reference of the settings', () => {
  it('has each setting in one section', () => {
    expect(misplacedSettings(), 'to be in one section of test/support/documents/settings-reference.ts').toEqual([]);
  });

  it('is docs/operations/settings.md', async () => {
    await expect(settingsPage()).toMatchFileSnapshot(
      join(ROOT, 'docs/operations/settings.md'),
      '`npm run settings-list` writes it',
    );
  });
});

describe('the file with all settings as comments', () => {
  it('is deployment/flightlog.yaml', async () => {
    await expect(exampleFile()).toMatchFileSnapshot(
      join(ROOT, 'deployment/flightlog.yaml'),
      '`npm run settings-list` writes it',
    );
  });

  it('gives the defaults when every setting that has one is uncommented', () => {
    const lines = exampleFile().split('\n');
    const uncommented = lines
      .filter((line) => !line.endsWith(NO_DEFAULT))
      .map((line) => line.replace(/^#(?! \S)/u, ''));
    expect(read(uncommented.join('\n'))).toEqual(configure([]));
  });
});

describe('the example on the page of the configuration', () => {
  it('is read by the server', () => {
    expect(read(example)).toMatchObject({ host: '127.0.0.1', insecure: true, execution: { timeout: 86_400_000 } });
  });

  it('has commented lines that the server reads too', () => {
    const uncommented = example.replaceAll(/^# (?=[ a-z]+[a-z_]*:)(?!.*node flightlog)/gmu, '');
    expect(read(uncommented)).toMatchObject({ role: ['api'], kafka: { replication_factor: 3 } });
  });
});
