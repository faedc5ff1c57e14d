import { readFileSync } from 'node:fs';

/** The unit in which Linux counts processor time (`USER_HZ`). */
const TICKS_PER_SECOND = 100;
const KB_PER_MB = 1_024;
/** Indexes of fields of `/proc/PID/stat`, counted after the program's name, which may contain spaces. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

/** Resources that a process has used so far, from the kernel's accounting; Linux only. */
export type ProcessFigures = {
  /** User and system time of all its threads. */
  readonly cpuSeconds: number;
  /** Resident memory. */
  readonly rssMb: number;
  /** The highest `rssMb` so far. */
  readonly peakRssMb: number;
};

/** Reads the figures of a running process. */
export const figuresOf = (pid: number): ProcessFigures => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'mu').exec(status)?.[1]) / KB_PER_MB;
  return {
    cpuSeconds: (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) / TICKS_PER_SECOND,
    rssMb: megabytes('VmRSS'),
    peakRssMb: megabytes('VmHWM'),
  };
};
