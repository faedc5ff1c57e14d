import type { Reporter, TestModule } from 'vitest/node';

/** Closes the output with the one line that says how it went. */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      // A file that could not be loaded has no tests to count, and is a failure all the same.
      if (module.children.size === 0 && module.state() === 'failed') count.failed += 1;
      for (const test of module.children.allTests()) count[test.result().state] += 1;
    }
    process.stdout.write(
      `\n${count.passed} passed, ${count.failed} failed, ${count.skipped + count.pending} skipped\n`,
    );
  }
}
