import { defineConfig } from 'vitest/config';
import { leftOut } from './test/support/left-out.js';

/** Which files those are, and why. */
const LEFT_OUT = Object.keys(leftOut(process.env)).map((name) => `dist/test/e2e/${name}.test.js`);

// Tests run as compiled: worker threads load the same files then as in production.
const kind = (name: string, testTimeout: number, setupFiles: readonly string[] = []) => ({
  test: {
    name,
    include: [`dist/test/${name}/**/*.test.js`],
    exclude: LEFT_OUT,
    testTimeout,
    hookTimeout: Math.max(2.5 * testTimeout, 30_000), // stories begin with many requests
    setupFiles: [...setupFiles],
    env: { FLIGHTLOG_TEST_AS_BUILT: '1' },
  },
});

/** Ends the log servers that tests have with FLIGHTLOG_TEST_LOG=eventstore. */
const STOP_LOGS = ['./dist/test/support/stop-test-logs.js'];

/**
 * What speaks the MongoDB protocol may be slow, and a kill costs as many starts as a control plane has processes: five
 * of them on the cores that others have too.
 */
const E2E_MS = process.env['FLIGHTLOG_TEST_READ_STORE'] === 'mongodb' ? 600_000 : 120_000;

export default defineConfig({
  test: {
    maxWorkers: 2,
    reporters: ['default', './dist/test/support/tally-reporter.js'],
    projects: [
      kind('unit', 5_000),
      kind('contract', 20_000),
      kind('integration', 60_000, STOP_LOGS),
      kind('e2e', E2E_MS, STOP_LOGS),
    ],
  },
});
