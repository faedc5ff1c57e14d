/** A queue of answers to a client. */
export interface AnswerQueue {
  put(answer: Uint8Array): void;
  /** True when at least as many answers wait as the size of the queue. */
  isFull(): boolean;
  /** Resolves when fewer answers wait than the size of the queue. One caller waits at a time. */
  writable(): Promise<void>;
  /** Ends the answers after the waiting ones, with the error if one is given. Only the first call counts. */
  end(failure?: Error): void;
  /**
   * Yields the answers until the end, each time all that wait.
   *
   * @throws the error of `end`.
   */
  answers(): AsyncGenerator<readonly Uint8Array[]>;
}

/** Opens an empty queue, which is full while it holds `size` answers or more. */
export const openAnswerQueue = (size: number): AnswerQueue => {
  let waiting: Uint8Array[] = [];
  let ending: { readonly failure: Error | undefined } | undefined;
  let onChange = (): void => undefined;
  let onTaken = (): void => undefined;
  const change = (): Promise<void> => new Promise((resolve) => (onChange = resolve));
  const isFull = (): boolean => waiting.length >= size;
  return {
    put: (answer) => {
      waiting.push(answer);
      onChange();
    },
    isFull,
    writable: async () => {
      while (isFull()) await new Promise<void>((resolve) => (onTaken = resolve));
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
        if (taken.length > 0) yield taken;
      }
      if (ending.failure !== undefined) throw ending.failure;
    },
  };
};
