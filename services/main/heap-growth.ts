import { setFlagsFromString } from 'node:v8';

/** A heap may grow by this percentage of what was live at its last full collection. */
const GROWTH_PERCENT = 75;

/**
 * Bounds the growth of the heaps of all threads between two full collections: on a machine with much memory, V8 lets a
 * heap grow to four times its live size. Must be called before other threads are started.
 */
export const boundHeapGrowth = (): void => setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
