import { Presets, SingleBar } from 'cli-progress';

/** How far one phase of a command has come; `done` and `total` in the same unit. */
export type PhaseProgress = {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
  /** How many things have been done, and what they are. */
  readonly count: number;
  readonly what: string;
};

/** A bar for each phase on standard error; on a terminal alone, since it is for people. */
export const progressBar = (): { show: (progress: PhaseProgress) => void; stop: () => void } => {
  if (!process.stderr.isTTY) return { show: () => undefined, stop: () => undefined };
  let bar: SingleBar | undefined;
  let phase: string | undefined;
  const open = (next: PhaseProgress): SingleBar => {
    bar?.stop();
    ({ phase } = next);
    const format = `${next.phase.padEnd(6)} {bar} {percentage}% · {count} ${next.what} · {eta} s left`;
    const opened = new SingleBar({ format, stream: process.stderr, hideCursor: true }, Presets.shades_classic);
    opened.start(next.total, 0, { count: 0 });
    return opened;
  };
  return {
    show: (progress) => {
      bar = phase === progress.phase && bar !== undefined ? bar : open(progress);
      bar.update(progress.done, { count: progress.count });
    },
    stop: () => bar?.stop(),
  };
};
