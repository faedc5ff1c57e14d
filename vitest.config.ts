import { defineConfig } from 'vitest/config';

// Tests run as compiled: worker threads load the same files then as in production.
const kind = (name: string, testTimeout: number) => ({
  test: { name, include: [`dist/test/${name}/**/*.test.js`], testTimeout, hookTimeout: Math.max(testTimeout, 30_000) },
});

export default defineConfig({
  test: {
    maxWorkers: 2,
    reporters: ['default', './dist/test/support/tally-reporter.js'],
    projects: [kind('unit', 5_000), kind('contract', 20_000), kind('integration', 60_000), kind('e2e', 120_000)],
  },
});
