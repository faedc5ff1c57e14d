import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../..');
const PAGES = [
  'README.md',
  ...(readdirSync(join(ROOT, 'docs'), { recursive: true }) as string[]).map((name) => `docs/${name}`),
].filter((path) => path.endsWith('.md'));

/** A path of a source in backticks, a link to a file, and a link to a heading in Markdown. */
const SOURCE = /`((?:bench|console|deployment|docs|engine|interface|projections|proto|services|test)\/[\w./-]+)`/gu;
const LINK = /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/gu;
const HEADING_LINK = /\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/gu;
const HEADING = /^#{1,6} (.+)$/gmu;
const CODE_BLOCK = /^```.*?^```/gmsu;

const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found]) => found ?? '');

/** The paths that a page names: of sources from the root, of links from its own folder. */
const pathsOf = (page: string): string[] => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...matches(text, SOURCE), ...matches(text, LINK).map((link) => join(dirname(page), link))];
};

/** The text of a page without its code blocks. */
const proseOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8').replaceAll(CODE_BLOCK, '');

/** The anchor that a web page of the document gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (page: string): ReadonlySet<string> => new Set(matches(proseOf(page), HEADING).map(anchorOf));

/** The links of a page to a heading that its target does not have. */
const danglingLinks = (page: string): string[] =>
  [...proseOf(page).matchAll(HEADING_LINK)]
    .filter(([, path = '', heading = '']) => {
      const target = path === '' ? page : join(dirname(page), path);
      return target.endsWith('.md') && !anchorsOf(target).has(heading);
    })
    .map(([link]) => link);

describe('the documents', () => {
  it.each(PAGES)('%s names only existing files', (page) => {
    expect(pathsOf(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it.each(PAGES)('%s links only to existing headings', (page) => {
    expect(danglingLinks(page)).toEqual([]);
  });

  it('name more than forty files on the page of the architecture', () => {
    expect(pathsOf('docs/architecture.md').length).toBeGreaterThan(40);
  });
});
