import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/** The processor time that a process has taken so far, all its threads together, in milliseconds. */
const spentMs = (pid: number): number => {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13); // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
  return (Number(user) + Number(system)) * TICK_MS;
};

/** What `work` answers, and the processor time that another process took meanwhile: a busy machine adds nothing. */
export const timedAt = async <Result>(
  pid: number,
  work: () => Promise<Result>,
): Promise<readonly [result: Result, tookMs: number]> => {
  const before = spentMs(pid);
  const result = await work();
  return [result, spentMs(pid) - before];
};
