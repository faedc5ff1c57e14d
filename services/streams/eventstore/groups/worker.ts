import { setTimeout as pause } from 'node:timers/promises';
import { OutcomeUnknown } from '../../../kernel/fault.js';
import { isLogAway } from '../failure.js';

/** Repeated work of which only one step runs at a time. */
export interface Worker {
  /** Starts the work; if it is running, it is repeated afterwards. */
  wake(): void;
  /** Resolves when the work is not running. */
  idle(): Promise<void>;
}

/**
 * Makes a worker.
 *
 * @param step does one step of the work, and resolves with false when there is none left.
 * @param onError is called when a step fails; the worker then stops until it is woken.
 */
export const worker = (step: () => Promise<boolean>, onError: (error: unknown) => void): Worker => {
  let running: Promise<void> | undefined;
  let isWoken = false;
  const run = async (): Promise<void> => {
    while (isWoken) {
      isWoken = false;
      while (await step());
    }
  };
  const start = (): void => {
    running = run()
      .catch(onError)
      .finally(() => {
        running = undefined;
        if (isWoken) start(); // woken after the last step
      });
  };
  return {
    wake: () => {
      isWoken = true;
      if (running === undefined) start();
    },
    idle: async () => {
      while (running) await running;
    },
  };
};

const PAUSE_MS = 200;

/**
 * Retries work while the log cannot be reached, also when it is not known whether an append was written: work that
 * appends events with the same ids each time writes them once.
 *
 * @throws the error of the last attempt when `signal` is aborted; any error other than an outage.
 */
export const untilReached = async <Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isOutage = isLogAway(error) || error instanceof OutcomeUnknown;
      if (!isOutage || signal.aborted) throw error;
      await pause(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
};
