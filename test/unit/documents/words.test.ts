import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The list that lint holds comments, strings and test names to. */
const words = JSON.parse(textOf('plain-words.json')) as readonly { readonly pattern: string; readonly say: string }[];

const PAGES = [
  'README.md',
  'CHANGELOG.md',
  ...(readdirSync(join(ROOT, 'docs'), { recursive: true }) as string[]).map((name) => `docs/${name}`),
].filter((path) => path.endsWith('.md') && !path.startsWith('docs/events/')); // generated, with samples of users' data

/** Names in backticks are not prose. */
const findingsIn = (line: string): readonly string[] => {
  const prose = line.replaceAll(/`[^`]*`/gu, '');
  return words.flatMap(({ pattern, say }) =>
    [...prose.matchAll(new RegExp(pattern, 'giu'))].map(([found]) => `"${found}": say ${say}: ${line.slice(0, 120)}`),
  );
};

describe('the documents', () => {
  it.each(PAGES)('%s says no word of the list', (page) => {
    expect(textOf(page).split('\n').flatMap(findingsIn)).toEqual([]);
  });
});
