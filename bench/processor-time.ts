import { readdirSync, readFileSync } from 'node:fs';

/** The processor time that the threads of a process have had so far, in milliseconds; those that have ended are left out. */
export const processorMs = (pid: number): number => {
  const threads = readdirSync(`/proc/${pid}/task`);
  const took = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  );
  return took.reduce((sum, ns) => sum + ns, 0) / 1e6;
};
