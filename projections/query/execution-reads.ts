import type { DocumentReads } from '../runtime/read-store.js';
import type { LinkedEntities } from './columns.js';
import type { Freshness } from './freshness.js';
import type { RecordedContents } from './recorded-contents.js';

/** The sources of reads of executions, and of their nodes and tasks. */
export type ExecutionReads = {
  readonly store: DocumentReads;
  readonly entities: LinkedEntities;
  readonly freshness: Freshness;
  readonly contents: RecordedContents;
};

/** Selects executions of a project and domain. */
export type ExecutionFilter = {
  readonly project: string;
  readonly domain: string;
  readonly filters: string;
  /** Labels that the executions have, with their values. */
  readonly labels: readonly (readonly [key: string, value: string])[];
};
