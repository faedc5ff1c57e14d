import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const filesIn = (folder: string, ending: string): readonly string[] =>
  (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);

/** The words that lint refuses in comments, strings and test names. */
const words = JSON.parse(textOf('plain-words.json')) as readonly { readonly pattern: string; readonly say: string }[];

const PAGES = ['README.md', 'CHANGELOG.md', ...filesIn('docs', '.md')].filter(
  (path) => !path.startsWith('docs/events/'), // generated, with samples of users' data
);

const PROTO_FILES = filesIn('proto', '.proto');

/** The beginning of a comment that does not name its subject. */
const RIDDLE = /^(?:What|How|Whether|Where|Who|Whose|Whom|Which)\b/u;

/** The refused words of a line, each with its replacement; names in backticks are not searched. */
const findingsIn = (line: string): readonly string[] => {
  const prose = line.replaceAll(/`[^`]*`/gu, '');
  return words.flatMap(({ pattern, say }) =>
    [...prose.matchAll(new RegExp(pattern, 'giu'))].map(([found]) => `"${found}": say ${say}: ${line.slice(0, 120)}`),
  );
};

/** The comments of a proto file, each on one line. */
const commentsOf = (path: string): readonly string[] =>
  [...textOf(path).matchAll(/\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/gu)].map(([comment]) =>
    comment.replaceAll(/\s*\/\/\s*/gu, ' ').trim(),
  );

describe('the documents', () => {
  it.each(PAGES)('%s has no word that plain-words.json refuses', (page) => {
    expect(textOf(page).split('\n').flatMap(findingsIn)).toEqual([]);
  });
});

describe('the comments of proto files', () => {
  it.each(PROTO_FILES)('%s has no word that plain-words.json refuses', (path) => {
    expect(commentsOf(path).flatMap(findingsIn)).toEqual([]);
  });

  it.each(PROTO_FILES.filter((path) => path.startsWith('proto/platformidl/eventlog/')))(
    '%s begins no comment with a word such as What or How',
    (path) => {
      expect(commentsOf(path).filter((comment) => RIDDLE.test(comment))).toEqual([]);
    },
  );
});
