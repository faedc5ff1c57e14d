import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/runner/longest-first.js';
import { skippedTests } from './test/support/runner/skipped-tests.js';
import { filesOf, LOADS, MATRICES, nightlyFiles, OPERATIONS } from './test/support/runner/suites.js';

/** The files that are skipped: `.ci/run` without `--nightly` leaves out those of the nightly run. */
const LEFT_OUT = [
  ...Object.keys(skippedTests(process.env)).map((name) => `dist/test/e2e/${name}.test.js`),
  ...(process.env['FLIGHTLOG_TEST_WITHOUT_NIGHTLY'] === '1' ? nightlyFiles() : []),
];

type Kind = {
  readonly timeoutMs: number;
  /** The compiled files; all of the folder of that name, where it is not given. */
  readonly files?: readonly string[];
  readonly apart?: readonly string[];
  readonly setupFiles?: readonly string[];
  /** True when each file runs in its own process; otherwise the files of a worker share their imports. */
  readonly isolate?: boolean;
};

/**
 * Files that Node loads as they are. The runner would translate what is translated already, anew for each file of
 * tests.
 */
const AS_BUILT = /\/dist\/.*(?<!\.test)\.js$/u;

// Tests run as compiled: worker threads load the same files then as in production.
const kind = (name: string, { timeoutMs, files, apart = [], setupFiles = [], isolate = true }: Kind) => ({
  test: {
    name,
    include: [...(files ?? [`dist/test/${name}/**/*.test.js`])],
    exclude: [...LEFT_OUT, ...apart],
    testTimeout: timeoutMs,
    hookTimeout: Math.max(2.5 * timeoutMs, 30_000), // stories begin with many requests
    setupFiles: [...setupFiles],
    isolate,
    env: { FLIGHTLOG_TEST_AS_BUILT: '1' }, // started processes do not translate changed sources
    server: { deps: { external: [AS_BUILT] } },
  },
});

/** After each file of tests: ends the log servers, and removes the databases and topics, of its data directories. */
const CLEAN_UP = ['./dist/test/support/runner/clean-up.js'];

/**
 * The time limit of an end-to-end test, in milliseconds. With MongoDB views it is longer: the server may be slow, and
 * after a kill up to five processes of a control plane start.
 */
const E2E_MS = process.env['FLIGHTLOG_TEST_READ_STORE'] === 'mongodb' ? 600_000 : 120_000;

const stories = { timeoutMs: E2E_MS, setupFiles: CLEAN_UP };
const [loads, matrices, operations] = [filesOf(LOADS), filesOf(MATRICES), filesOf(OPERATIONS)];

export default defineConfig({
  test: {
    maxWorkers: 2,
    globalSetup: './dist/test/support/runner/temporary-folder.js',
    sequence: { sequencer: LongestFirst },
    update: 'none', // a test compares; only --update writes what it compares with
    reporters: ['default', './dist/test/support/runner/tally-reporter.js'],
    projects: [
      kind('unit', { timeoutMs: 20_000, isolate: false }),
      kind('contract', { timeoutMs: 20_000, isolate: false }),
      kind('integration', { timeoutMs: 120_000, setupFiles: CLEAN_UP, isolate: false }),
      kind('e2e', { ...stories, apart: [...loads, ...matrices, ...operations], isolate: false }),
      kind('operations', { ...stories, files: operations, isolate: false }),
      kind('loads', { ...stories, files: loads, isolate: false }),
      kind('matrices', { ...stories, files: matrices }),
      kind('console', { timeoutMs: 60_000, isolate: false }),
    ],
  },
});
