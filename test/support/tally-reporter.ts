import type { Reporter, TestModule } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** How many cases of the contract the test has tried; one, where it does not say. */
    cases?: number;
  }
}

const CONFORMANCE = '/test/e2e/conformance/';

/** Closes the output with how many cases of the contract were tried, and the one line that says how it went. */
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
      // A file that could not be loaded, or what goes before its tests, has no test that could fail.
      if (failed === 0 && module.state() === 'failed') count.failed += 1;
    }
    if (cases > 0) process.stdout.write(`\n${cases} cases of the contract hold\n`);
    process.stdout.write(
      `\n${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`,
    );
  }
}
