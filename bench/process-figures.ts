import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;
const MB = 1_024;
/** Of `/proc/PID/stat`, counted after the name of the program, which may have spaces. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

/** What a process has used so far, of the kernel's accounts; Linux only. */
export type ProcessFigures = {
  /** Of all its threads, in user mode and in the kernel's. */
  readonly cpuSeconds: number;
  readonly rssMb: number;
  /** The most that it ever had. */
  readonly peakRssMb: number;
};

/** Reads the figures of a process that runs. */
export const figuresOf = (pid: number): ProcessFigures => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'mu').exec(status)?.[1]) / MB;
  return {
    cpuSeconds: (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) / TICKS_PER_SECOND,
    rssMb: megabytes('VmRSS'),
    peakRssMb: megabytes('VmHWM'),
  };
};
