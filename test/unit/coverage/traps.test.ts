import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** The compiled tests are in `dist/test`; this one reads other compiled tests. */
const CONFORMANCE = join(import.meta.dirname, '../../e2e/conformance');
const TRAPS = 40;
const NAMED = /\bit\((['"`])trap (\d+): /gu;

it('each trap of compatibility has one test, which names it', () => {
  const files = readdirSync(CONFORMANCE).filter((file) => /^traps-.*\.test\.js$/u.test(file));
  const sources = files.map((file) => readFileSync(join(CONFORMANCE, file), 'utf8')).join('\n');
  const numbers = Array.from(sources.matchAll(NAMED), ([, , number]) => Number(number)).sort((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: TRAPS }, (_, at) => at + 1));
});
