import { defineConfig } from 'vitest/config';

/** The tests that mutants are run against: those that load the product in their own thread, and end in seconds. */
export default defineConfig({
  test: {
    include: ['dist/test/unit/**/*.test.js'],
    testTimeout: 20_000,
  },
});
