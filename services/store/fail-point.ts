/** Where a test may stop the process, as `kill -9` would, or hold the thread that passes. */
export type FailPoint =
  | 'before-commit'
  | 'after-commit'
  | 'after-payload'
  | 'after-upload'
  | 'payload-aside'
  | 'inside-checkpoint'
  | 'backup-object';

const [chosen, nth, does] = (process.env['FLIGHTLOG_FAIL_POINT'] ?? '').split(':');
let passagesLeft = Number(nth ?? '1');

/** A thread that nobody ever wakes. */
const holdThread = (): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};

/**
 * Kills the process at the N-th passage of the point that `FLIGHTLOG_FAIL_POINT=<point>:<N>` names; with `:hold` after
 * that, holds the thread there for good; else does nothing.
 */
export const failPoint = (point: FailPoint): void => {
  if (point !== chosen) return;
  passagesLeft -= 1;
  if (passagesLeft !== 0) return;
  if (does === 'hold') holdThread();
  else process.kill(process.pid, 'SIGKILL');
};
