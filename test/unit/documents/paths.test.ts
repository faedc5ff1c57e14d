import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../..');
const PAGES = [
  'README.md',
  ...(readdirSync(join(ROOT, 'docs'), { recursive: true }) as string[]).map((name) => `docs/${name}`),
].filter((path) => path.endsWith('.md'));

const SOURCE = /`((?:bench|deployment|docs|engine|projections|proto|services|test)\/[\w./-]+)`/gu;
const LINK = /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/gu;

const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found]) => found ?? '');

/** The paths that a page names: of sources from the root, of links from its own folder. */
const pathsOf = (page: string): string[] => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...matches(text, SOURCE), ...matches(text, LINK).map((link) => join(dirname(page), link))];
};

describe('the documents', () => {
  it.each(PAGES)('%s names only files that there are', (page) => {
    expect(pathsOf(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('name the files of each walk', () => {
    expect(pathsOf('docs/architecture.md').length).toBeGreaterThan(40);
  });
});
