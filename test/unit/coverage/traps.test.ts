import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** The compiled tests are in `dist/test`; this test reads the compiled conformance tests. */
const CONFORMANCE = join(import.meta.dirname, '../../e2e/conformance');
/** A trap is a behaviour that published clients or engines depend on and that the interface does not state. */
const TRAPS = 40;
/** The beginning of a test of a trap, with its number. */
const NAMED = /\bit\((['"`])trap (\d+): /gu;

it('each compatibility trap has one test, and its number is in the title', () => {
  const files = readdirSync(CONFORMANCE).filter((file) => /^traps-.*\.test\.js$/u.test(file));
  const sources = files.map((file) => readFileSync(join(CONFORMANCE, file), 'utf8')).join('\n');
  const numbers = Array.from(sources.matchAll(NAMED), ([, , number]) => Number(number)).sort((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: TRAPS }, (_, at) => at + 1));
});
