import type { Freshness } from '../query/freshness.js';
import type { EntityKind } from '../query/columns.js';
import type { RecordedContents } from '../query/recorded-contents.js';
import type { DocumentReads } from '../runtime/read-store.js';

/** The services that reads of executions use. */
export type ExecutionReads = {
  readonly store: DocumentReads;
  readonly entities: EntityKind;
  readonly freshness: Freshness;
  readonly past: RecordedContents;
};
