import { setFlagsFromString } from 'node:v8';

/** How far a heap may grow above what was live at its last full collection, in percent of that. */
const GROWTH_PERCENT = 100;

/**
 * Bounds how far the heaps of all threads grow between two full collections. On a machine with much memory V8 lets them
 * grow to four times of what is live: the thread that serves has 90 MB of live streams when they are as many as are
 * kept, and had up to 340 MB. Called before other threads are started.
 */
export const boundHeapGrowth = (): void => setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
