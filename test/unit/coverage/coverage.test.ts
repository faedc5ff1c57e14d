import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { allRpcs } from '../../support/requests/built.js';
import { namedRpcs, withDerivedPart } from './coverage-tables.js';

const ROOT = join(import.meta.dirname, '../../../..');
const PAGE = join(ROOT, 'docs/coverage.md');
const page = readFileSync(PAGE, 'utf8');

describe('docs/coverage.md', () => {
  it('says of every RPC in its tables whether it is built', async () => {
    await expect(withDerivedPart(page, allRpcs)).toMatchFileSnapshot(PAGE, '`npm run coverage` writes it');
  });

  it('names only existing RPCs before its tables, and more than fifty times', () => {
    const names = new Set(allRpcs.map(({ name }) => name));
    for (const name of namedRpcs(page)) expect(names).toContain(name);
    expect(namedRpcs(page).length).toBeGreaterThan(50);
  });
});
