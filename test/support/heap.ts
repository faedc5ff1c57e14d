import assert from 'node:assert';

/** What this thread has in memory, in bytes, once what nothing refers to is collected. */
export const heapBytes = (): number => {
  assert(globalThis.gc, 'needs --expose-gc');
  globalThis.gc();
  globalThis.gc(); // buffers that the first round has let go of
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

/** What each of so many things takes in memory, in bytes. */
export const heapBytesOfEach = (count: number, make: () => unknown): number => {
  const fill = (): unknown[] => Array.from({ length: count }, make);
  fill(); // what is made once, such as compiled code
  const before = heapBytes();
  const made = fill();
  return (heapBytes() - before) / made.length;
};
