import { readFileSync } from 'node:fs';

/** The unit of processor time in Linux: a hundredth of a second. */
const TICK_MS = 10;

/** The processor time of a process so far, over all its threads, in milliseconds. */
const spentMs = (pid: number): number => {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13); // https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
  return (Number(user) + Number(system)) * TICK_MS;
};

/**
 * The result of `work`, and the processor time that another process used meanwhile, in milliseconds. Other load on the
 * machine does not count.
 */
export const timedAt = async <Result>(
  pid: number,
  work: () => Promise<Result>,
): Promise<readonly [result: Result, tookMs: number]> => {
  const before = spentMs(pid);
  const result = await work();
  return [result, spentMs(pid) - before];
};
