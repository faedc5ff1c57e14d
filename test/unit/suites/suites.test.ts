import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LONG } from '../../support/runner/longest-first.js';
import { filesOf, LOADS, MATRICES, nightlyFiles, OPERATIONS } from '../../support/runner/suites.js';

/** The compiled tests are in `dist/test`. */
const ROOT = join(import.meta.dirname, '../../../..');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};
const ci = readFileSync(join(ROOT, '.ci/run'), 'utf8');
const suites = [...(scripts['test:all'] ?? '').matchAll(/npm run (test:\w+)/gu)].map(([, name]) => name!);
const projectsOf = (script: string): readonly string[] =>
  [...(scripts[script] ?? '').matchAll(/--project (\w+)/gu)].map(([, name]) => name!);

describe('the suites of tests', () => {
  it.each([...filesOf(LOADS), ...filesOf(MATRICES), ...filesOf(OPERATIONS), ...nightlyFiles(), ...LONG])(
    'have a file that exists: %s',
    (file) => {
      expect(existsSync(join(ROOT, file))).toBe(true);
    },
  );

  it('have each project of tests once, and npm run test:all runs them all', () => {
    expect(scripts['test:all']).toMatch(/^npm test && /u);
    expect(['test', ...suites].flatMap(projectsOf)).toEqual([
      'unit',
      'contract',
      'e2e',
      'operations',
      'loads',
      'matrices',
      'console',
      'integration',
    ]);
  });

  it('are all called by CI', () => {
    expect(/^for suite in (.*); do$/mu.exec(ci)?.[1]?.split(' ')).toEqual(['test', ...suites]);
  });

  it.each(['test:eventstore', 'test:mongodb', 'test:roles'])(
    'run four projects on other stores or with one process for each role: %s',
    (script) => {
      expect(projectsOf(script)).toEqual(['e2e', 'operations', 'loads', 'matrices']);
    },
  );
});
