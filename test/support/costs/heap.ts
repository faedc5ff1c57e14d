import assert from 'node:assert';

/** The live memory of this thread in bytes, after a garbage collection. */
export const heapBytes = (): number => {
  assert(globalThis.gc, 'needs --expose-gc');
  globalThis.gc();
  globalThis.gc(); // buffers that the first collection has released
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

/** The average live memory, in bytes, of each of `count` things. */
export const heapBytesOfEach = (count: number, make: () => unknown): number => {
  const fill = (): unknown[] => Array.from({ length: count }, make);
  fill(); // allocates what is made only once, such as compiled code
  const before = heapBytes();
  const made = fill();
  return (heapBytes() - before) / made.length;
};
