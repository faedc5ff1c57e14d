import { OutcomeUnknown, WriteRefused } from '../kernel/fault.js';
import type { AuditEntry, AuditStore } from '../kernel/ports/audit-trail.js';
import { auditBatch } from './batch.js';

export type EntryWriterOptions = {
  readonly store: AuditStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Makes the key of a batch; no two keys are equal, not even in different processes. */
  readonly newKey: () => string;
  /** Called with the number of entries that were dropped. */
  readonly onDropped: (count: number) => void;
  readonly onError: (error: unknown) => void;
};

/** Gathers entries, and stores those that are gathered. */
export type EntryWriter = {
  readonly add: (entry: AuditEntry) => void;
  /** Stores what can be stored now; never rejects. The caller waits for one call before it makes the next. */
  readonly storeNow: () => Promise<void>;
  /** True when no entry waits, or the store took none of those that wait; they are tried again after the next `add`. */
  readonly isIdle: () => boolean;
};

/** Entries that are stored together, under the key of their batch. */
type Writing = { readonly key: string; readonly entries: readonly AuditEntry[] };

/** The largest number of writes that search one batch for the entries that the store refuses. */
const MAX_SEARCH_WRITES = 64;

const NOTHING = { principal: '', issuer: '', clientId: '', transport: '', address: '', action: '', project: '' };

/** The entry that records the number of lost entries. */
const lossOf = (count: number, now: number): AuditEntry => ({
  ...{ ...NOTHING, domain: '', name: '', code: '', requestId: '', position: undefined },
  ...{ kind: 'dropped', atMs: now, lastAtMs: now, count, reason: 'entries that could not be kept' },
});

const isLoss = ({ kind }: AuditEntry): boolean => kind === 'dropped';

/** Gathers the entries that are to be stored, and counts those that are lost. */
const backlog = ({ now, onDropped }: EntryWriterOptions) => {
  let batch = auditBatch();
  let lost = 0;

  const lose = (count: number): void => {
    if (count === 0) return;
    lost += count;
    onDropped(count);
  };

  return {
    isEmpty: (): boolean => batch.isEmpty() && lost === 0,
    /** Takes all entries; the last one records those that are lost. */
    taken: (): readonly AuditEntry[] => {
      const { entries, dropped } = batch.taken();
      batch = auditBatch();
      lose(dropped);
      const losses = lost === 0 ? [] : [lossOf(lost, now())];
      lost = 0;
      return [...entries, ...losses];
    },
    /** Keeps entries for the next attempt. */
    keep: (entries: readonly AuditEntry[]): void => {
      for (const entry of entries)
        if (isLoss(entry)) lost += entry.count;
        else batch.add(entry);
    },
    /**
     * Counts refused entries as lost, except those about lost entries: the entry with the count would be refused again.
     */
    drop: (entries: readonly AuditEntry[]): void => {
      for (const entry of entries) if (!isLoss(entry)) lose(entry.count);
    },
  };
};

/** Writes batches, and remembers the one that may have been stored. */
const batchWriter = ({ store, onError }: EntryWriterOptions, keep: (entries: readonly AuditEntry[]) => void) => {
  /** The batch whose outcome is unknown; no other batch is written before the outcome is known. */
  let unsure: Writing | undefined;

  /** Writes a batch. After a failure it waits for the next attempt; one that may have been stored waits as it is. */
  const write = async (writing: Writing): Promise<'stored' | 'failed' | WriteRefused> => {
    try {
      await store.write(writing.entries, writing.key);
      unsure = undefined;
      return 'stored';
    } catch (error) {
      if (error instanceof WriteRefused) {
        unsure = undefined;
        return error;
      }
      onError(error);
      if (error instanceof OutcomeUnknown) unsure = writing;
      else if (unsure !== writing) keep(writing.entries);
      return 'failed';
    }
  };

  return { write, unsureOne: () => unsure };
};

/** Opens a writer. The store stays open; its owner closes it. */
export const entryWriter = (options: EntryWriterOptions): EntryWriter => {
  const { newKey, onError } = options;
  const waiting = backlog(options);
  const { write, unsureOne } = batchWriter(options, waiting.keep);
  let added = 0;
  /** The number of entries that were added when the store last took none of them. */
  let refusedAt: number | undefined;

  const chunkOf = (entries: readonly AuditEntry[]): Writing => ({ key: newKey(), entries });

  /**
   * Stores a refused batch without the entries that the store refuses. These are dropped when the store takes others;
   * when it takes none, the cause may be the store and not the entries, so all are kept. Newer halves are tried first,
   * so that refused old entries, however many, do not keep new ones from being stored.
   */
  const storeHalves = async (entries: readonly AuditEntry[]): Promise<void> => {
    const untried: (readonly AuditEntry[])[] = [];
    const refusedOnes: AuditEntry[] = [];
    const answers = new Set<string>();
    const split = (refused: readonly AuditEntry[]): void => {
      const half = Math.ceil(refused.length / 2);
      if (refused.length > 1) untried.push(refused.slice(0, half), refused.slice(half));
      else refusedOnes.push(...refused);
    };
    split(entries);
    for (let writes = 0; writes < MAX_SEARCH_WRITES && !answers.has('failed'); writes += 1) {
      const chunk = untried.pop();
      if (!chunk) break;
      const answer = await write(chunkOf(chunk));
      if (answer instanceof WriteRefused) split(chunk);
      else answers.add(answer);
    }
    untried.forEach(waiting.keep);
    if (answers.size > 0) refusedAt = undefined;
    if (answers.has('stored')) waiting.drop(refusedOnes);
    else waiting.keep(refusedOnes);
  };

  const writeNext = async (): Promise<void> => {
    refusedAt = added;
    const entries = waiting.taken();
    const answer = entries.length === 0 ? 'stored' : await write(chunkOf(entries));
    if (answer instanceof WriteRefused) {
      onError(answer);
      await storeHalves(entries);
    } else refusedAt = undefined;
  };

  return {
    add: (entry) => {
      added += 1;
      waiting.keep([entry]);
    },
    /** Stores the batch that is unsure, and then the next one, with the entries of the first one if it was refused. */
    storeNow: async () => {
      const writing = unsureOne();
      const answer = writing && (await write(writing));
      if (writing && answer instanceof WriteRefused) waiting.keep(writing.entries);
      if (answer !== 'failed') await writeNext();
    },
    isIdle: () => !unsureOne() && (waiting.isEmpty() || refusedAt === added),
  };
};
