/** Where a test may stop the process, as `kill -9` would. */
export type FailPoint = 'before-commit' | 'after-commit' | 'after-payload' | 'inside-checkpoint';

const [chosen, nth] = (process.env['FLIGHTLOG_FAIL_POINT'] ?? '').split(':');
let passagesLeft = Number(nth ?? '1');

/** Kills the process at the N-th passage of the point that `FLIGHTLOG_FAIL_POINT=<point>:<N>` names; else does nothing. */
export const failPoint = (point: FailPoint): void => {
  if (point !== chosen) return;
  passagesLeft -= 1;
  if (passagesLeft === 0) process.kill(process.pid, 'SIGKILL');
};
