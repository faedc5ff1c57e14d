import { Presets, SingleBar } from 'cli-progress';

/** The progress of one phase of a command; `done` and `total` have the same unit. */
export type PhaseProgress = {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
  /** The progress in words, such as `12 payloads`. */
  readonly detail: string;
};

/** The progress of a phase at one time. */
type Moment = { readonly done: number; readonly atMs: number };

/** A phase has to run this long before its rate is known. */
const LEAST_SAMPLE_MS = 2_000;

/**
 * The time that a phase still takes at its average rate, in words; empty until the rate is known. Work that was done
 * before the phase began, as in a copy that resumes, does not count for the rate.
 */
export const timeLeft = (began: Moment, now: Moment, total: number): string => {
  const tookMs = now.atMs - began.atMs;
  const done = now.done - began.done;
  if (tookMs < LEAST_SAMPLE_MS || done <= 0) return '';
  return ` · ${Math.max(0, Math.ceil(((total - now.done) * tookMs) / done / 1_000))} s left`;
};

const FORMAT = '{phase} {bar} {percentage}% · {detail}{left}';

/** Shows a bar for each phase on standard error; shows nothing when standard error is not a terminal. */
export const progressBar = (): { show: (progress: PhaseProgress) => void; stop: () => void } => {
  if (!process.stderr.isTTY) return { show: () => undefined, stop: () => undefined };
  let open: { readonly bar: SingleBar; readonly phase: string; readonly began: Moment } | undefined;
  const opened = ({ phase, done, total }: PhaseProgress): NonNullable<typeof open> => {
    open?.bar.stop();
    const bar = new SingleBar({ format: FORMAT, stream: process.stderr, hideCursor: true }, Presets.shades_classic);
    bar.start(Math.max(1, total), done, { phase: phase.padEnd(6), detail: '', left: '' });
    return { bar, phase, began: { done, atMs: performance.now() } };
  };
  return {
    show: (progress) => {
      open = progress.phase === open?.phase ? open : opened(progress);
      const { done, total, detail } = progress;
      open.bar.update(done, { detail, left: timeLeft(open.began, { done, atMs: performance.now() }, total) });
    },
    stop: () => open?.bar.stop(),
  };
};

type PositionProgress = { readonly phase: string; readonly position: bigint; readonly head: bigint };

/** The progress of a phase that reads the log. */
export const throughLog = ({ phase, position, head }: PositionProgress): PhaseProgress => ({
  phase,
  done: Number(position),
  total: Number(head),
  detail: `position ${position} of ${head}`,
});
