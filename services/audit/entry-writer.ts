import { OutcomeUnknown, StoreUnavailable, WriteRefused } from '../kernel/fault.js';
import type { AuditEntry, AuditStore } from '../kernel/ports/audit-trail.js';
import { auditBatch } from './batch.js';

/** Settings and services of a writer of audit entries. */
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
  /** True when nothing waits to be stored. */
  readonly isIdle: () => boolean;
};

/** Entries that are stored together, under the key of their batch; `losses` are the entries about lost ones. */
type Writing = {
  readonly key: string;
  readonly entries: readonly AuditEntry[];
  readonly losses: readonly AuditEntry[];
};

/** The largest number of batches of which the store has not said whether it has them. */
const MAX_UNSURE = 2;

/** The largest number of writes that search one batch for the entries that the store refuses. */
const MAX_SEARCH_WRITES = 64;

const NOTHING = { principal: '', issuer: '', clientId: '', transport: '', address: '', action: '', project: '' };

/** The entry that records the number of lost entries. */
const lossOf = (count: number, now: number): AuditEntry => ({
  ...{ ...NOTHING, domain: '', name: '', code: '', requestId: '', position: undefined },
  ...{ kind: 'dropped', atMs: now, lastAtMs: now, count, reason: 'entries that could not be kept' },
});

const countOf = (entries: readonly AuditEntry[]): number => entries.reduce((sum, { count }) => sum + count, 0);

/** True when the store has not answered: then other batches need not be tried. */
const isUnanswered = (error: unknown): boolean => error instanceof OutcomeUnknown || error instanceof StoreUnavailable;

/** Gathers the entries that are to be stored, and counts those that are lost. */
const backlog = ({ now, newKey, onDropped }: EntryWriterOptions) => {
  let batch = auditBatch();
  let lost = 0;

  const lose = (count: number): void => {
    if (count === 0) return;
    lost += count;
    onDropped(count);
  };

  return {
    add: (entry: AuditEntry): void => batch.add(entry),
    isEmpty: (): boolean => batch.isEmpty() && lost === 0,
    /** Takes all entries; `undefined` when there are none. */
    taken: (): Writing | undefined => {
      const { entries, dropped } = batch.taken();
      batch = auditBatch();
      lose(dropped);
      if (entries.length === 0 && lost === 0) return undefined;
      const losses = lost === 0 ? [] : [lossOf(lost, now())];
      lost = 0;
      return { key: newKey(), entries, losses };
    },
    /** Puts entries back, for a later attempt. */
    keep: ({ entries, losses }: Writing): void => {
      for (const entry of entries) batch.add(entry);
      lost += countOf(losses);
    },
    drop: ({ entries, losses }: Writing): void => {
      lose(countOf(entries));
      lost += countOf(losses);
    },
  };
};

type Backlog = ReturnType<typeof backlog>;

/** Writes batches, and remembers those of which the store has not said whether it has them. */
const batchWrites = ({ store, onError }: EntryWriterOptions, { keep, drop }: Backlog) => {
  let stored = 0;
  /** The oldest first. */
  let unsure: readonly Writing[] = [];

  const dropUnsure = (dropped: readonly Writing[]): void => {
    const found = unsure.filter((each) => dropped.includes(each));
    unsure = unsure.filter((each) => !found.includes(each));
    found.forEach(drop);
  };

  /** @returns `undefined` when the entries are stored; the error otherwise. */
  const attempt = async ({ key, entries, losses }: Writing): Promise<unknown> => {
    try {
      await store.write([...entries, ...losses], key);
      stored += 1;
      return undefined;
    } catch (error) {
      return error;
    }
  };

  /** Keeps a batch after an error; one that may have been stored is kept as it is. */
  const keepFailed = (writing: Writing, error: unknown): void => {
    onError(error);
    if (!(error instanceof OutcomeUnknown)) {
      keep(writing);
      return;
    }
    if (unsure.length >= MAX_UNSURE) dropUnsure(unsure.slice(0, 1));
    unsure = [...unsure, writing];
  };

  /** Writes the batches that are unsure again. @returns those that the store refuses; `undefined` without its answer. */
  const writeUnsure = async (): Promise<readonly Writing[] | undefined> => {
    const refused: Writing[] = [];
    for (const writing of unsure) {
      const error = await attempt(writing);
      if (error !== undefined) onError(error);
      if (isUnanswered(error)) return undefined;
      if (error === undefined) unsure = unsure.filter((each) => each !== writing);
      else refused.push(writing);
    }
    return refused;
  };

  return {
    ...{ attempt, keepFailed, writeUnsure, dropUnsure },
    /** The number of batches that were stored. */
    stored: () => stored,
    isSure: () => unsure.length === 0,
  };
};

/** Opens a writer. The store stays open; its owner closes it. */
export const entryWriter = (options: EntryWriterOptions): EntryWriter => {
  const { newKey, onError } = options;
  const waiting = backlog(options);
  const { attempt, keepFailed, writeUnsure, dropUnsure, stored, isSure } = batchWrites(options, waiting);

  const partOf = (entries: readonly AuditEntry[]): Writing => ({ key: newKey(), entries, losses: [] });
  const halvesOf = ({ entries }: Writing): readonly Writing[] => {
    const half = Math.ceil(entries.length / 2);
    return [entries.slice(0, half), entries.slice(half)].map(partOf);
  };

  /**
   * Stores a refused batch without the entries that the store refuses. These are dropped when the store takes others;
   * when it takes none, the cause may be the store and not the entries, so all are kept. Newer halves are tried first:
   * so many old entries that are refused do not keep new ones from being stored.
   */
  const storeHalves = async ({ entries, losses }: Writing): Promise<void> => {
    const before = stored();
    waiting.keep({ ...partOf([]), losses });
    const left: Writing[] = [];
    const alone: Writing[] = [];
    const split = (refused: Writing): unknown =>
      refused.entries.length > 1 ? left.push(...halvesOf(refused)) : alone.push(refused);
    split(partOf(entries));
    for (let writes = 0; writes < MAX_SEARCH_WRITES && left.length > 0; writes += 1) {
      const next = left.pop() ?? partOf([]);
      const error = await attempt(next);
      if (error instanceof WriteRefused) split(next);
      else if (error !== undefined) {
        keepFailed(next, error);
        break;
      }
    }
    left.forEach(waiting.keep);
    alone.forEach(stored() > before ? waiting.drop : waiting.keep);
  };

  const writeNext = async (): Promise<void> => {
    const writing = waiting.taken();
    const error = writing && (await attempt(writing));
    if (!writing || error === undefined) return;
    if (!(error instanceof WriteRefused)) {
      keepFailed(writing, error);
      return;
    }
    onError(error);
    await storeHalves(writing);
  };

  return {
    add: waiting.add,
    /**
     * Stores the batches that are unsure, and then the next one. When the store refuses one that is unsure and takes
     * another, the entries of the first are lost: they can neither be stored later, out of order, nor in another batch,
     * perhaps twice.
     */
    storeNow: async () => {
      const before = stored();
      const refused = await writeUnsure();
      if (!refused) return;
      await writeNext();
      if (stored() > before) dropUnsure(refused);
    },
    isIdle: () => isSure() && waiting.isEmpty(),
  };
};
