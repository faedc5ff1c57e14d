import { EngineStopped } from './call-error.js';
import { type EngineLogger } from './options.js';
import { ExecutionLost } from './execution-lost.js';

/** The retry policy of executions whose walk failed: when each is retried, and which ones are given up. */
export interface WalkRetries {
  /** Records the error with which a walk failed. */
  note(key: string, error: unknown): void;
  /** Forgets the failures of an execution whose walk has ended well. */
  forget(key: string): void;
  /** True while an execution is not to be walked: its backoff has not passed, or it was given up. */
  isPutOff(key: string): boolean;
  /** Number of executions whose backoff has not passed yet. */
  pending(): number;
  /** The executions that were given up, with the message of the last error. */
  readonly dropped: ReadonlyMap<string, string>;
}

const MAX_ATTEMPTS = 5;
/** The backoff after the n-th failure is this, doubled n times. */
const BACKOFF_MS = 200;
/**
 * Maximum number of executions that are remembered as failed, and as given up. Above it the oldest is forgotten, so one
 * that was given up is retried if it is still open.
 */
const MAX_REMEMBERED = 10_000;

/** The execution has ended, is no longer this engine's, or the engine is stopping: no failure. */
const isExpected = (error: unknown): boolean =>
  error instanceof EngineStopped ||
  (error instanceof ExecutionLost && (error.why === 'ended' || error.why === 'fenced'));

const isPermanent = (error: unknown, count: number): boolean =>
  count >= MAX_ATTEMPTS || (error instanceof ExecutionLost && (error.why === 'unknown' || error.why === 'invalid'));

const forgetOldest = (remembered: Map<string, unknown>): void => {
  const [oldest] = remembered.size > MAX_REMEMBERED ? remembered.keys() : [];
  if (oldest !== undefined) remembered.delete(oldest);
};

export const createRetries = (logger: EngineLogger): WalkRetries => {
  /** The numbers of failures. */
  const failures = new Map<string, number>();
  /** The times, in milliseconds since the start of the process, before which executions are not retried. */
  const waiting = new Map<string, number>();
  const dropped = new Map<string, string>();
  const forget = (key: string): void => {
    failures.delete(key);
    waiting.delete(key);
  };
  return {
    dropped,
    note: (key, error) => {
      const count = (failures.get(key) ?? 0) + 1;
      forget(key);
      if (isExpected(error)) return;
      if (!isPermanent(error, count)) {
        failures.set(key, count);
        waiting.set(key, performance.now() + BACKOFF_MS * 2 ** count);
        forgetOldest(failures);
        logger.warn({ execution: key, err: error }, 'the walk of an execution has failed and will be retried');
        return;
      }
      dropped.set(key, error instanceof Error ? error.message : String(error));
      forgetOldest(dropped);
      logger.warn({ execution: key, err: error }, 'execution given up');
    },
    forget,
    isPutOff: (key) => dropped.has(key) || (waiting.get(key) ?? 0) > performance.now(),
    pending: () => {
      const now = performance.now();
      for (const [key, notBefore] of waiting) if (notBefore <= now) waiting.delete(key);
      return waiting.size;
    },
  };
};
