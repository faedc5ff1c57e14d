import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKOUT } from '../../support/processes/command.js';

/** The folders whose files are built into the program, without the generated ones. */
const PRODUCT = ['services', 'projections', 'engine', 'interface'];

const sources = PRODUCT.flatMap((place) =>
  readdirSync(join(CHECKOUT, place), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(CHECKOUT, place, name)),
);

/** The lines that name the file of a thread, other than imports. */
const naming = sources.flatMap((path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes("-thread.js'") && !line.includes(" from '")),
);

describe('the files of the program', () => {
  it('have the function for descriptors that `build.js` puts in the place of the one of the library', () => {
    const folder = join(CHECKOUT, 'dist/program');
    const chunks = readdirSync(folder).filter((name) => name.endsWith('.js'));
    const texts = chunks.map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(texts.some((text) => text.includes('// services/kernel/encoding/file-descriptors.ts'))).toBe(true);
  });

  it('include one for each thread, and each thread has a name of its own', () => {
    const threads = sources.filter((path) => path.endsWith('-thread.ts')).map((path) => basename(path, '.ts'));
    expect(threads).toContain('views-thread');
    expect(new Set(threads).size).toBe(threads.length);
    for (const name of threads) expect(existsSync(join(CHECKOUT, `dist/program/${name}.js`)), name).toBe(true);
  });

  it('are found, because the sources name each thread by the expression that build.js looks for', () => {
    expect(naming.length).toBeGreaterThan(10);
    for (const line of naming) expect(line).toMatch(/new URL\('[^']*-thread\.js', import\.meta\.url\)/u);
  });
});
