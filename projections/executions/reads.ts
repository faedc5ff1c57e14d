import type { Freshness } from '../query/freshness.js';
import type { LinkedEntities } from '../query/columns.js';
import type { RecordedContents } from '../query/recorded-contents.js';
import type { DocumentReads } from '../runtime/read-store.js';

/** The sources of reads of executions. */
export type ExecutionReads = {
  readonly store: DocumentReads;
  readonly entities: LinkedEntities;
  readonly freshness: Freshness;
  readonly contents: RecordedContents;
};
