import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';
import { CHECKOUT } from './command.js';

/** The last commit of the previous release, which reads and writes only format 1 of the log. */
const RELEASE_BEFORE = 'a371975fb5be1e4520b594b296fbee85cfe64934';

const git = (...args: readonly string[]): Buffer =>
  execFileSync('git', ['-C', CHECKOUT, ...args], { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] });

/** True when this checkout has the commit of the previous release. */
export const isInHistory = (): boolean => {
  try {
    git('cat-file', '-e', `${RELEASE_BEFORE}^{commit}`);
    return true;
  } catch {
    return false;
  }
};

/** Translates the product only, without type checks, which passed when it was released. */
const TRANSLATION: BuildOptions = {
  entryPoints: ['proto/gen/**/*.ts', 'services/**/*.ts', 'projections/**/*.ts'],
  outdir: 'dist',
  outbase: '.',
  format: 'esm',
  platform: 'node',
  target: 'es2023',
  logLevel: 'error',
};

/** The command line of the previous release, built in a folder of its own. */
export type ReleaseBefore = { readonly binary: string; readonly remove: () => void };

/** Builds the previous release, with the packages of this one. */
export const buildReleaseBefore = (): ReleaseBefore => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-before-'));
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', RELEASE_BEFORE) });
  symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'));
  buildSync({ ...TRANSLATION, absWorkingDir: folder });
  return { binary: join(folder, 'flightlog.js'), remove: () => rmSync(folder, { recursive: true }) };
};
