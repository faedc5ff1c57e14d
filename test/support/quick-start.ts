/**
 * Flags for V8 that make a start cheaper, for processes that a test starts; no flags in benchmarks. Most of these processes
 * live for seconds, and by default a fifth of the processor time of their start is the compilation of functions that
 * run during the start alone.
 */
export const QUICK_START: readonly string[] = process.env['VITEST'] === undefined ? [] : ['--interrupt-budget=1000000'];
