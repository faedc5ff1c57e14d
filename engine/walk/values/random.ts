import { fnv32 } from '../ids.js';

/** Returns the next pseudo-random number in [0, 1). */
export type RandomSource = () => number;

/** Makes a pseudo-random sequence that depends only on `parts` (mulberry32, seeded with their hash). */
export const randomSource = (...parts: readonly (string | number)[]): RandomSource => {
  let state = fnv32(parts.join('\u0000'));
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** An integer in [0, below). */
export const drawInteger = (draw: RandomSource, below: number): number => Math.floor(draw() * below);
