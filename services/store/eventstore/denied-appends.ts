import type { Appended } from '../../kernel/ports/event-store.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { isAccessDenied } from './eventstore-fault.js';

/** Whether the user may append, by what became of appends. */
export interface DeniedAppends {
  /** Notes what became of an append, and answers it. */
  noted(append: Promise<Appended>): Promise<Appended>;
  /** Why the last append was denied; `undefined` since another one succeeded. */
  why(): string | undefined;
  close(): void;
}

/** Between two tries: a process that gets no calls, since it is not ready, appends nothing by itself. */
const TRY_EVERY_MS = 2_000;

/** @param probe an append of nothing, tried again and again while appends are denied. */
export const deniedAppends = (probe: () => Promise<unknown>): DeniedAppends => {
  let denial: string | undefined;
  let timer: NodeJS.Timeout | undefined;

  const succeed = (): void => {
    denial = undefined;
    clearTimeout(timer);
  };
  const tryLater = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void probe().then(succeed, tryLater), TRY_EVERY_MS).unref();
  };
  return {
    noted: async (append) => {
      try {
        const appended = await append;
        if (denial !== undefined) succeed();
        return appended;
      } catch (error) {
        if (error instanceof StoreUnavailable && isAccessDenied(error.cause)) {
          denial = error.message;
          tryLater();
        }
        throw error;
      }
    },
    why: () => denial,
    close: () => clearTimeout(timer),
  };
};
