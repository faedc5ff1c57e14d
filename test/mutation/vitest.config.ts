import { defineConfig } from 'vitest/config';

const ALL = 'dist/test/unit/**/*.test.js';

/**
 * The tests that mutants are run against: those that load the product in their own thread, and end in seconds. A
 * pattern in FLIGHTLOG_MUTATION_TESTS names fewer of them.
 */
export default defineConfig({
  test: {
    include: [process.env['FLIGHTLOG_MUTATION_TESTS'] ?? ALL],
    testTimeout: 20_000,
  },
});
