import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of a process's living threads so far, in milliseconds. */
export const processorMs = (pid: number): number => {
  const threads = readdirSync(`/proc/${pid}/task`);
  const took = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  );
  return took.reduce((sum, ns) => sum + ns, 0) / 1e6;
};
