import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { allRpcs } from '../../support/requests/built.js';
import { namedRpcs, withDerivedPart } from './coverage-tables.js';

const ROOT = join(import.meta.dirname, '../../../..');
const PAPER = join(ROOT, 'docs/coverage.md');
const paper = readFileSync(PAPER, 'utf8');

describe('docs/coverage.md', () => {
  it('says of every RPC in its tables whether it is built', async () => {
    await expect(withDerivedPart(paper, allRpcs)).toMatchFileSnapshot(PAPER, '`npm run coverage` writes it');
  });

  it('names only existing RPCs, and more than fifty times', () => {
    const names = new Set(allRpcs.map(({ name }) => name));
    for (const name of namedRpcs(paper)) expect(names).toContain(name);
    expect(namedRpcs(paper).length).toBeGreaterThan(50);
  });
});
