import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CHECKOUT, type Ended, start } from '../support/processes/command.js';

/** A checkout of a program of two files. */
const folder = mkdtempSync(join(tmpdir(), 'flightlog-first-start-'));
const MAIN = 'services/cli/flightlog.ts';
const WORD = 'services/cli/word.ts';
const SAYS_WORD = `import { word } from './word.js';\nprocess.stdout.write(word);\n`;

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

/** Writes the source file that has the word which the program prints. */
const word = (text: string): void => write(WORD, `export const word: string = '${text}';\n`);

const run = (): Promise<Ended> =>
  start(process.execPath, [join(folder, 'flightlog.js')], { cwd: tmpdir(), env: { FLIGHTLOG_TEST_AS_BUILT: '' } })
    .ended;

/** The text on standard error when files have been translated; `count` is such as `2 source files`. */
const translated = (count: string) =>
  expect.stringMatching(
    new RegExp(`^flightlog: translating ${count} …\nflightlog: translated in .* s\n$`, 'u'),
  ) as string;

const isBuilt = (path: string): boolean => existsSync(join(folder, 'dist', path));

// The tests follow one another on one checkout.
describe('the program in a checkout', () => {
  beforeAll(() => {
    for (const name of ['flightlog.js', 'build.js', 'package.json', 'package-lock.json', 'tsconfig.json'])
      cpSync(join(CHECKOUT, name), join(folder, name));
    symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'));
    write(MAIN, SAYS_WORD);
    write('test/unit/some.test.ts', 'export {};\n');
    write('proto/gen/some_pb.d.ts', 'export {};\n');
    word('one');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is translated at its first start, without tests, and says so', async () => {
    expect(await run()).toEqual({ code: 0, stdout: 'one', stderr: translated('2 source files') });
    expect([isBuilt('services/cli/word.js.map'), isBuilt('test'), isBuilt('proto')]).toEqual([true, false, false]);
  });

  it('is not translated again at its second start', async () => {
    expect(await run()).toEqual({ code: 0, stdout: 'one', stderr: '' });
  });

  it('is translated again where a source has changed, also back to an earlier text', async () => {
    word('two');
    expect(await run()).toEqual({ code: 0, stdout: 'two', stderr: translated('1 source file') });
    word('one');
    utimesSync(join(folder, WORD), 1, 1); // its time of change is in 1970, as after a checkout of an old file
    expect(await run()).toEqual({ code: 0, stdout: 'one', stderr: translated('1 source file') });
  });

  it('keeps no chunk of an earlier translation', async () => {
    const withPart = `void import('./part.js').then(({ part }) => process.stdout.write(part));\n`;
    write('services/cli/part.ts', `import { word } from './word.js';\nexport const part = word;\n`);
    write(MAIN, withPart);
    expect(await run()).toMatchObject({ code: 0, stdout: 'one' });
    const parts = (): readonly string[] =>
      readdirSync(join(folder, 'dist/program')).filter((name) => name.startsWith('part'));
    const before = parts();
    word('three');
    expect(await run()).toMatchObject({ code: 0, stdout: 'three' });
    expect(parts()).toHaveLength(before.length);
    expect(parts()).not.toEqual(before);
    rmSync(join(folder, 'services/cli/part.ts'));
    write(MAIN, SAYS_WORD);
    word('one');
    await run();
  });

  it('is translated whole when package-lock.json has changed', async () => {
    utimesSync(join(folder, 'package-lock.json'), 1, 1);
    expect(await run()).toEqual({ code: 0, stdout: 'one', stderr: translated('2 source files') });
  });

  it('keeps nothing of a source that is gone', async () => {
    rmSync(join(folder, WORD));
    const { code, stderr } = await run();
    expect({ code, isKept: isBuilt('services/cli/word.js') }).toEqual({ code: 1, isKept: false });
    expect(stderr).toContain('Could not resolve "./word.js"');
    word('one');
    await run();
  });

  it('keeps nothing of a source that is gone when package-lock.json has changed, too', async () => {
    rmSync(join(folder, WORD));
    utimesSync(join(folder, 'package-lock.json'), 2, 2);
    const { code } = await run();
    expect({ code, isKept: isBuilt('services/cli/word.js') }).toEqual({ code: 1, isKept: false });
  });

  it('exits with the place of a syntax error, and starts when the error is corrected', async () => {
    write(WORD, 'export const word: = 1;\n');
    const { code, stdout, stderr } = await run();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/services\/cli\/word\.ts:1:19/u);
    word('mended');
    expect(await run()).toMatchObject({ code: 0, stdout: 'mended' });
  });

  it('says to run `npm ci` when esbuild is missing, and runs as last translated without its sources', async () => {
    word('installed');
    await run();
    rmSync(join(folder, 'node_modules'));
    utimesSync(join(folder, WORD), 1, 1);
    const hint = 'flightlog: its sources are not translated, and esbuild is not installed: run `npm ci`\n';
    expect(await run()).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(hint) as string });
    for (const name of ['services', 'build.js']) rmSync(join(folder, name), { recursive: true });
    expect(await run()).toEqual({ code: 0, stdout: 'installed', stderr: '' });
  });
});
