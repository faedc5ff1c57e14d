import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** The number of contract cases that the test tries; one by default. */
    cases?: number;
  }
}

const CONFORMANCE = '/test/e2e/conformance/';

/** The file to which each failed test adds a line, so that a run of several suites can repeat them at its end. */
const FAILURES = process.env['FLIGHTLOG_TEST_FAILURES'];

const lineOf = (test: TestCase): string => {
  const [text = ''] = test.result().errors?.[0]?.message.split('\n', 1) ?? [];
  return `${test.module.relativeModuleId}: ${test.fullName}: ${text}`;
};

/**
 * A line for each failed test of a file. A file that failed to load, or whose hooks failed, has no failed test, and
 * gets one line.
 */
const failuresOf = (module: TestModule): readonly string[] => {
  const lines = [...module.children.allTests('failed')].map(lineOf);
  return lines.length === 0 && module.state() === 'failed' ? [module.relativeModuleId] : lines;
};

const casesOf = (module: TestModule): number =>
  module.moduleId.includes(CONFORMANCE)
    ? [...module.children.allTests('passed')].reduce((sum, test) => sum + (test.meta().cases ?? 1), 0)
    : 0;

/** Ends the output with the number of contract cases of the tests that passed, and one line with the result. */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const states = modules.flatMap(({ children }) => [...children.allTests()].map((test) => test.result().state));
    const count = (...wanted: readonly string[]) => states.filter((state) => wanted.includes(state)).length;
    const failures = modules.flatMap(failuresOf);
    const cases = modules.reduce((sum, module) => sum + casesOf(module), 0);
    if (FAILURES !== undefined) appendFileSync(FAILURES, failures.map((line) => `${line}\n`).join(''));
    if (cases > 0) process.stdout.write(`\n${cases} cases of the contract hold\n`);
    process.stdout.write(
      `\n${count('passed')} passed, ${failures.length} failed, ${count('skipped', 'pending')} skipped\n`,
    );
  }
}
