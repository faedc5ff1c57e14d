/** A queue of answers to a client. */
export interface AnswerQueue {
  put(answer: Uint8Array): void;
  /** Resolves when fewer answers wait than the size of the queue. */
  writable(): Promise<void>;
  /** Ends the answers after the waiting ones, with the error if one is given. */
  end(failure?: Error): void;
  /**
   * Yields the answers until the end.
   *
   * @throws the error of `end`.
   */
  answers(): AsyncGenerator<Uint8Array>;
}

/** Opens an empty queue; `writable` waits while it holds `size` answers. */
export const openAnswerQueue = (size: number): AnswerQueue => {
  let waiting: Uint8Array[] = [];
  let ending: { readonly failure: Error | undefined } | undefined;
  let onChange = (): void => undefined;
  let onTaken = (): void => undefined;
  const change = (): Promise<void> => new Promise((resolve) => (onChange = resolve));
  return {
    put: (answer) => {
      waiting.push(answer);
      onChange();
    },
    writable: async () => {
      while (waiting.length >= size) await new Promise<void>((resolve) => (onTaken = resolve));
    },
    end: (failure) => {
      ending ??= { failure };
      onChange();
    },
    async *answers() {
      while (waiting.length > 0 || !ending) {
        if (waiting.length === 0) await change();
        const taken = waiting;
        waiting = [];
        onTaken();
        yield* taken;
      }
      if (ending.failure !== undefined) throw ending.failure;
    },
  };
};
