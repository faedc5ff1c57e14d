/** How far the views of this process are behind what was recorded. */
export interface Views {
  /** The position up to which every view has seen the log. */
  position(): bigint;
  /** Waits until the views have seen a position, at most so long; answers whether they have. */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
}
