import { Presets, SingleBar } from 'cli-progress';

/** How far one phase of a command has come; `done` and `total` in the same unit. */
export type PhaseProgress = {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
  /** What has been done, in words, such as `12 payloads`. */
  readonly detail: string;
};

/** A moment of a phase. */
type Moment = { readonly done: number; readonly atMs: number };

/** What is done in less time says nothing about the rate. */
const LEAST_SAMPLE_MS = 2_000;

/**
 * How long a phase still takes at its present rate, in words; empty until it has run long enough to tell. Work that was
 * done before the phase began (of a copy that goes on, say) does not count.
 */
export const timeLeft = (began: Moment, now: Moment, total: number): string => {
  const tookMs = now.atMs - began.atMs;
  const done = now.done - began.done;
  if (tookMs < LEAST_SAMPLE_MS || done <= 0) return '';
  return ` · ${Math.max(0, Math.ceil(((total - now.done) * tookMs) / done / 1_000))} s left`;
};

const FORMAT = '{phase} {bar} {percentage}% · {detail}{left}';

/** A bar for each phase on standard error; on a terminal alone, since it is for people. */
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
