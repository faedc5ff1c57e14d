/** Points at which a test may kill or suspend the process, or block the thread that passes. */
export type FailPoint =
  | 'before-commit'
  | 'after-commit'
  | 'after-payload'
  | 'after-upload'
  | 'after-consume'
  | 'authorization-write'
  | 'payload-quarantined'
  | 'before-views-write'
  | 'inside-checkpoint'
  | 'backup-object'
  | 'exported-file';

const [chosen, nth, does] = (process.env['FLIGHTLOG_FAIL_POINT'] ?? '').split(':');
let passagesLeft = Number(nth ?? '1');

/** The longest time, in milliseconds, until a signal to stop has reached all threads of this process. */
const STOP_MS = 1_000;

/** Blocks the thread, permanently if no time is given. */
const holdThread = (ms?: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

/** Suspends the process. This thread is blocked until then, because the signal may reach another thread first. */
const suspendProcess = (): void => {
  process.kill(process.pid, 'SIGSTOP');
  holdThread(STOP_MS);
};

/**
 * Kills the process at the N-th passage of the point named by `FLIGHTLOG_FAIL_POINT=<point>:<N>`; with
 * `<point>:<N>:hold`, blocks the thread there permanently instead; with `<point>:<N>:suspend`, suspends the process
 * until it gets SIGCONT. Each thread counts its own passages. Without that variable it does nothing.
 */
export const failPoint = (point: FailPoint): void => {
  if (point !== chosen) return;
  passagesLeft -= 1;
  if (passagesLeft !== 0) return;
  if (does === 'hold') holdThread();
  else if (does === 'suspend') suspendProcess();
  else process.kill(process.pid, 'SIGKILL');
};
