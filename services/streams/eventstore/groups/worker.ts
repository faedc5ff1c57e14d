import { setTimeout as pause } from 'node:timers/promises';
import { OutcomeUnknown, StoreUnavailable } from '../../../kernel/fault.js';

/** Work that is done again and again, never twice at the same time. */
export interface Worker {
  /** Starts the work, or has it done once more when it is running. */
  wake(): void;
  /** Resolves when the work is not running. */
  idle(): Promise<void>;
}

/**
 * Makes a worker.
 *
 * @param step does a part of the work, and resolves with false when there is no more.
 * @param onError is called when a step fails; the worker then stands still until it is woken.
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
 * Tries work again while the log cannot be reached. An append is repeated with the same event ids, so it is written once.
 *
 * @throws the error of the last attempt when `signal` is aborted; errors that are no outage.
 */
export const untilReached = async <Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> => {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isOutage = error instanceof StoreUnavailable || error instanceof OutcomeUnknown;
      if (!isOutage || signal.aborted) throw error;
      await pause(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
};
