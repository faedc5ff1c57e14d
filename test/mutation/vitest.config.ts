import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The unit tests of the code that `mutate` in `stryker.config.json` names, without those that measure sizes. */
const RELATED =
  'dist/test/unit/{execution,executions,node-executions,task-executions,sessions,projections-kernel}/**/!(sizes).test.js';

/** Files that Node loads as they are, as in all other tests. The runner would translate them anew for each mutant. */
const AS_BUILT = /\/dist\/(?:proto|services|projections|engine|interface|test)\/.*(?<!\.test)\.js$/u;

/**
 * The longest run of each test file, in milliseconds. The last run alone would mislead: a file that was skipped after
 * the failure of another took no time.
 */
const longest = new Map<string, number>();

/** Runs the files first that failed in the run before, and then the quickest: the first failure ends a run. */
class QuickestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const costs = new Map(files.map((file) => [file, this.#costOf(file)]));
    return Promise.resolve([...files].sort((a, b) => (costs.get(a) ?? 0) - (costs.get(b) ?? 0)));
  }

  #costOf({ project, moduleId }: TestSpecification): number {
    const key = `${project.name}:${relative(this.ctx.config.root, moduleId)}`;
    const { failed, duration } = this.ctx.cache.getFileTestResults(key) ?? { failed: false, duration: 0 };
    longest.set(key, Math.max(longest.get(key) ?? 0, duration));
    return failed ? 0 : (longest.get(key) ?? 0);
  }
}

/**
 * The tests that mutants are run against. A pattern in FLIGHTLOG_MUTATION_TESTS names others. A test that a mutant
 * makes wait forever fails after FLIGHTLOG_MUTATION_TIMEOUT_MS, by default 20,000 ms, unless Stryker ends the run
 * earlier, by its own timeout (`timeoutMS` in `stryker.config.json`).
 */
export default defineConfig({
  test: {
    include: [process.env['FLIGHTLOG_MUTATION_TESTS'] ?? RELATED],
    setupFiles: ['./test/mutation/repeatable.ts'],
    testTimeout: Number(process.env['FLIGHTLOG_MUTATION_TIMEOUT_MS'] ?? 20_000),
    isolate: false,
    sequence: { sequencer: QuickestFirst },
    env: { FLIGHTLOG_TEST_AS_BUILT: '1' },
    server: { deps: { external: [AS_BUILT] } },
  },
});
