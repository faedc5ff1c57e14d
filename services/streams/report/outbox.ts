/** A queue of answers to a client. */
export interface Outbox {
  put(answer: Uint8Array): void;
  /** Resolves when fewer than the given number of answers wait. */
  room(): Promise<void>;
  /** Ends the answers after those that wait, with an error where one is given. */
  end(failure?: Error): void;
  /**
   * Yields the answers until the end.
   *
   * @throws the error of `end`.
   */
  answers(): AsyncGenerator<Uint8Array>;
}

/** Opens an outbox in which at most `size` answers wait before `room` does. */
export const openOutbox = (size: number): Outbox => {
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
    room: async () => {
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
