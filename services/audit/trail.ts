import { OutcomeUnknown, StoreUnavailable } from '../kernel/fault.js';
import type { AuditEntry, AuditStore, AuditTrail } from '../kernel/ports/audit-trail.js';
import { auditBatch } from './batch.js';

/** Settings and services of an audit trail. */
export type AuditTrailOptions = {
  readonly store: AuditStore;
  readonly retentionMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Makes the key of a batch; no two keys are equal, not even in different processes. */
  readonly newKey: () => string;
  /** Called with the number of entries that were dropped. */
  readonly onDropped: (count: number) => void;
  readonly onError: (error: unknown) => void;
};

/** Entries that are stored together, under the key of their batch; `losses` are the entries about lost ones. */
type Writing = {
  readonly key: string;
  readonly entries: readonly AuditEntry[];
  readonly losses: readonly AuditEntry[];
};

const BATCH_MS = 1_000;
const CLEANING_MS = 3_600_000;
/** A store that is away may take minutes to fail; a list, and the end of the process, wait this long at most. */
const FLUSH_WAIT_MS = 5_000;

const NOTHING = { principal: '', issuer: '', clientId: '', transport: '', address: '', action: '', project: '' };

/** The entry that records the number of lost entries. */
const lossOf = (count: number, now: number): AuditEntry => ({
  ...{ ...NOTHING, domain: '', name: '', code: '', requestId: '', position: undefined },
  ...{ kind: 'dropped', atMs: now, lastAtMs: now, count, reason: 'entries that could not be kept' },
});

/** Gathers entries, and stores those that are gathered. */
const entryWriter = ({ store, now, newKey, onDropped, onError }: AuditTrailOptions) => {
  let batch = auditBatch();
  let lost = 0;
  /** A batch of which the store has not said whether it has it. */
  let unsure: Writing | undefined;

  const lose = (count: number): void => {
    if (count === 0) return;
    lost += count;
    onDropped(count);
  };

  const taken = (): Writing | undefined => {
    const { entries, dropped } = batch.taken();
    batch = auditBatch();
    lose(dropped);
    if (entries.length === 0 && lost === 0) return undefined;
    return { key: newKey(), entries, losses: lost === 0 ? [] : [lossOf(lost, now())] };
  };

  /** Resolves to `refused` when the store has answered: then it may store other batches. */
  const write = async (writing: Writing): Promise<'stored' | 'refused' | 'not-answered'> => {
    const { key, entries, losses } = writing;
    try {
      await store.write([...entries, ...losses], key);
      for (const { count } of losses) lost -= count;
      unsure = undefined;
      return 'stored';
    } catch (error) {
      if (error instanceof OutcomeUnknown) unsure = writing;
      if (unsure !== writing) for (const entry of entries) batch.add(entry);
      onError(error);
      return error instanceof OutcomeUnknown || error instanceof StoreUnavailable ? 'not-answered' : 'refused';
    }
  };

  /**
   * Stores the batch that is unsure, and then the next one. When the store refuses the first and takes the second, the
   * entries of the first are lost: they can neither be stored later, out of order, nor in another batch, perhaps twice.
   */
  const storeNow = async (): Promise<void> => {
    if (unsure && (await write(unsure)) === 'not-answered') return;
    const refused = unsure;
    const writing = taken();
    if (writing) await write(writing);
    if (refused && unsure !== refused) lose(refused.entries.reduce((sum, { count }) => sum + count, 0));
  };

  return {
    add: (entry: AuditEntry): void => batch.add(entry),
    storeNow,
    isIdle: (): boolean => unsure === undefined && batch.isEmpty() && lost === 0,
  };
};

/**
 * Opens an audit trail. Entries are stored once a second, outside the path of calls. Entries that cannot be stored are
 * kept for the next attempt; a batch that may have been stored is written again as it is, until the store refuses it and
 * takes the next one. Its entries, and those beyond the limits of a batch, are dropped and counted; the count becomes an
 * entry as soon as the store answers. The trail closes its store.
 */
export const auditTrail = (options: AuditTrailOptions): AuditTrail => {
  const { store, retentionMs, now, onError } = options;
  const writer = entryWriter(options);
  let storing: Promise<void> = Promise.resolve();

  /** Batches are stored one after another. */
  const flush = (): Promise<void> => {
    storing = storing.then(writer.storeNow);
    return storing;
  };
  const flushSoon = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, FLUSH_WAIT_MS);
      void flush().then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  const clean = (): void => void store.removeBefore(now() - retentionMs).catch(onError);

  clean();
  const timers = [
    setInterval(() => (writer.isIdle() ? undefined : void flush()), BATCH_MS),
    setInterval(clean, CLEANING_MS),
  ];
  for (const timer of timers) timer.unref();
  return {
    record: (entry) => writer.add(entry),
    list: async (query) => {
      await flushSoon();
      return store.list(query);
    },
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      await flushSoon();
      await store.close();
    },
  };
};
