import type { Appended } from '../../kernel/ports/event-store.js';
import { Fault } from '../../kernel/fault.js';
import { isAccessDenied } from './eventstore-fault.js';

/** Tracks, by the results of appends, whether the store denies them to the user of the connection string. */
export interface DeniedAppends {
  /** Records the result of an append, and returns or throws it unchanged. */
  noted(append: Promise<Appended>): Promise<Appended>;
  /**
   * Returns the reason of the last denial; `undefined` before any, and when an append or a probe has succeeded since.
   */
  reason(): string | undefined;
  /** Ends the probes. */
  close(): void;
}

/** The interval of probes, in milliseconds. They are needed because a process that is not ready gets no appends. */
const TRY_EVERY_MS = 2_000;

/** @param probe an append without events, which is repeated while appends are denied. */
export const deniedAppends = (probe: () => Promise<unknown>): DeniedAppends => {
  let denial: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const succeed = (): void => {
    denial = undefined;
    clearTimeout(timer);
  };
  const tryLater = (): void => {
    clearTimeout(timer);
    if (isClosed) return;
    timer = setTimeout(() => void probe().then(succeed, tryLater), TRY_EVERY_MS).unref();
  };
  return {
    noted: async (append) => {
      try {
        const appended = await append;
        if (denial !== undefined) succeed();
        return appended;
      } catch (error) {
        if (error instanceof Fault && isAccessDenied(error.cause)) {
          denial = error.message;
          tryLater();
        }
        throw error;
      }
    },
    reason: () => denial,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};
