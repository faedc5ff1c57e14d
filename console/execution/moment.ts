import type { Named } from '../server/ids.js';

/** An execution as of a moment: a position of the log, or a time; empty for now. */
export type Seen = { readonly id: Named; readonly asOf: string };
