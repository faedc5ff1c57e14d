import type { Named } from '../server/ids.js';

/** An execution as of a moment: `asOf` is a position of the log or a time; an empty one is the present. */
export type ExecutionAsOf = { readonly id: Named; readonly asOf: string };
