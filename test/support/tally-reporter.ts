import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** The number of contract cases that the test has tried; one by default. */
    cases?: number;
  }
}

const CONFORMANCE = '/test/e2e/conformance/';

/** Where the names of failed tests are appended, for what ends long after this run: a path, or nothing. */
const FAILURES = process.env['FLIGHTLOG_TEST_FAILURES'];

const firstLine = (text: string): string => text.split('\n', 1)[0]!;

/** Ends the output with the number of contract cases tried, and one line with the result. */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    const failures: string[] = [];
    let cases = 0;
    for (const module of modules) {
      let failed = 0;
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        count[state] += 1;
        if (state === 'failed') {
          failed += 1;
          failures.push(`${module.relativeModuleId}: ${test.fullName}: ${firstLine(errors?.[0]?.message ?? '')}`);
        }
        if (module.moduleId.includes(CONFORMANCE) && state === 'passed') cases += test.meta().cases ?? 1;
      }
      // A file that failed to load, or whose hooks failed, has no failed test; count it as one.
      if (failed === 0 && module.state() === 'failed') {
        count.failed += 1;
        failures.push(module.relativeModuleId);
      }
    }
    if (FAILURES !== undefined) appendFileSync(FAILURES, failures.map((name) => `${name}\n`).join(''));
    if (cases > 0) process.stdout.write(`\n${cases} cases of the contract hold\n`);
    process.stdout.write(
      `\n${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`,
    );
  }
}
