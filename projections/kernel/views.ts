/** How far the views of this process are behind what was recorded. */
export interface Views {
  /** The position up to which every view has seen the log. */
  position(): bigint;
  /** Waits until the views have seen a position, at most so long; answers whether they have. */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
}

/** Runs something after a while; what it answers calls it off. */
export type Timer = (afterMs: number, run: () => void) => () => void;

type Waiting = { readonly position: bigint; readonly settle: (hasReached: boolean) => void };

/** Views that are told how far they have come, by whoever writes them. */
export const progressViews = (timer: Timer): Views & { advance(position: bigint): void } => {
  const waiting = new Set<Waiting>();
  let current = 0n;
  const wait = (position: bigint, timeoutMs: number): Promise<boolean> =>
    new Promise((resolve) => {
      const callOff = timer(timeoutMs, () => each.settle(false));
      const settle = (hasReached: boolean): void => {
        waiting.delete(each);
        callOff();
        resolve(hasReached);
      };
      const each: Waiting = { position, settle };
      waiting.add(each);
    });
  return {
    position: () => current,
    reached: (position, timeoutMs) => (position <= current ? Promise.resolve(true) : wait(position, timeoutMs)),
    advance: (position) => {
      if (position > current) current = position;
      for (const each of waiting) if (each.position <= current) each.settle(true);
    },
  };
};
