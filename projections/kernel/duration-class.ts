const SECOND = 1_000_000;

/** The longest that are told apart: some nine hours. */
const MAX_CLASS = 15;

/** A duration's class, from 0 to 15: below a second, below two, four, eight and so on. */
export const durationClass = (micros: number): number =>
  micros < SECOND ? 0 : Math.min(MAX_CLASS, Math.floor(Math.log2(micros / SECOND)) + 1);
