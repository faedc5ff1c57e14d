import { EngineStopped } from './call-error.js';
import { type EngineLogger } from './options.js';
import { ExecutionLost } from './reporter.js';

/** What went wrong with executions, when each is tried again, and which are given up. */
export interface Setbacks {
  note(key: string, error: unknown): void;
  forget(key: string): void;
  /** Whether an execution is left alone for a while, or for good. */
  holdsBack(key: string): boolean;
  /** How many are to be tried again. */
  pending(): number;
  readonly dropped: ReadonlyMap<string, string>;
}

type Setback = { readonly count: number; readonly notBefore: number };

const MOST_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 200;

/** An end by somebody else's word, or of the engine itself, is nothing that went wrong. */
const isExpected = (error: unknown): boolean =>
  error instanceof EngineStopped || (error instanceof ExecutionLost && error.why === 'ended');

const isForGood = (error: unknown, count: number): boolean =>
  count >= MOST_ATTEMPTS || (error instanceof ExecutionLost && error.why === 'unknown');

export const createSetbacks = (logger: EngineLogger): Setbacks => {
  const setbacks = new Map<string, Setback>();
  const dropped = new Map<string, string>();
  return {
    dropped,
    note: (key, error) => {
      if (isExpected(error)) return;
      const count = (setbacks.get(key)?.count ?? 0) + 1;
      setbacks.set(key, { count, notBefore: Date.now() + FIRST_PAUSE_MS * 2 ** count });
      if (!isForGood(error, count)) {
        logger.warn({ execution: key, err: error }, 'execution put off');
        return;
      }
      setbacks.delete(key);
      dropped.set(key, error instanceof Error ? error.message : String(error));
      logger.warn({ execution: key, err: error }, 'execution given up');
    },
    forget: (key) => {
      setbacks.delete(key);
    },
    holdsBack: (key) => dropped.has(key) || (setbacks.get(key)?.notBefore ?? 0) > Date.now(),
    pending: () => setbacks.size,
  };
};
