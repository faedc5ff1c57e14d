import type { Reporter, TestModule } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** The number of contract cases that the test has tried; one by default. */
    cases?: number;
  }
}

const CONFORMANCE = '/test/e2e/conformance/';

/** Ends the output with the number of contract cases tried, and one line with the result. */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    let cases = 0;
    for (const module of modules) {
      let failed = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state] += 1;
        if (state === 'failed') failed += 1;
        if (module.moduleId.includes(CONFORMANCE) && state === 'passed') cases += test.meta().cases ?? 1;
      }
      // A file that failed to load, or whose hooks failed, has no failed test; count it as one.
      if (failed === 0 && module.state() === 'failed') count.failed += 1;
    }
    if (cases > 0) process.stdout.write(`\n${cases} cases of the contract hold\n`);
    process.stdout.write(
      `\n${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`,
    );
  }
}
