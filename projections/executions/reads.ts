import type { Freshness } from '../query/freshness.js';
import type { EntityKind } from '../query/columns.js';
import type { RecordedContents } from '../query/recorded-contents.js';
import type { ReadStore } from '../runtime/read-store.js';

/** The services that reads of executions use. */
export type ExecutionReads = {
  readonly store: ReadStore;
  readonly entities: EntityKind;
  readonly freshness: Freshness;
  readonly past: RecordedContents;
};
