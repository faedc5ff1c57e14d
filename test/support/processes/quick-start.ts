/**
 * Flags with which V8 optimizes a function only after it has run fifteen times as often as by default. V8 of releases
 * before Node 22 counts the bytes of bytecode that have run, V8 of later ones counts calls, and neither knows the flags
 * of the other.
 */
const LATE = process.versions.node.startsWith('20.')
  ? ['--interrupt-budget=1000000']
  : ['--invocation-count-for-maglev=6000', '--invocation-count-for-turbofan=45000'];

/**
 * Flags for V8 that make a start cheaper, for processes that a test starts; no flags in benchmarks. Most of these
 * processes live for seconds, and by default a fifth of the processor time of their start is the compilation of
 * functions that run during the start alone.
 */
export const QUICK_START: readonly string[] = process.env['VITEST'] === undefined ? [] : LATE;
