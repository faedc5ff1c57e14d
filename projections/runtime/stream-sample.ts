import type { StreamName } from '../../services/kernel/stream.js';

/** A sample of at most `most` of the streams added, spread evenly: all of them, or every second, every fourth, … */
export const streamSample = (
  most: number,
): { readonly add: (stream: StreamName) => void; readonly streams: () => readonly StreamName[] } => {
  let kept: StreamName[] = [];
  let step = 1;
  let count = 0;
  return {
    add: (stream) => {
      if (count % step === 0) kept.push(stream);
      count += 1;
      if (kept.length <= most) return;
      kept = kept.filter((_, index) => index % 2 === 0);
      step *= 2;
    },
    streams: () => kept,
  };
};
