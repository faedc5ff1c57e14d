import type { AuditEntry, AuditStore, AuditTrail } from '../kernel/ports/audit-trail.js';
import { auditBatch } from './batch.js';

/** Settings and services of an audit trail. */
export type AuditTrailOptions = {
  readonly store: AuditStore;
  readonly retentionMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called with the number of entries that were dropped. */
  readonly onDropped: (count: number) => void;
  readonly onError: (error: unknown) => void;
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

/**
 * Opens an audit trail. Entries are stored once a second, outside the path of calls. Entries that cannot be stored are
 * kept for the next attempt. Entries beyond the limits of a batch are dropped and counted; the count becomes an entry as
 * soon as the store answers. The trail closes its store.
 */
export const auditTrail = ({ store, retentionMs, now, onDropped, onError }: AuditTrailOptions): AuditTrail => {
  let batch = auditBatch();
  let lost = 0;
  let storing: Promise<void> = Promise.resolve();

  const lose = (count: number): void => {
    if (count === 0) return;
    lost += count;
    onDropped(count);
  };

  const storeNow = async (): Promise<void> => {
    const { entries, dropped } = batch.taken();
    batch = auditBatch();
    lose(dropped);
    const losses = lost;
    if (entries.length === 0 && losses === 0) return;
    try {
      await store.write(losses === 0 ? entries : [...entries, lossOf(losses, now())]);
      lost -= losses;
    } catch (error) {
      for (const entry of entries) batch.add(entry);
      onError(error);
    }
  };
  /** Batches are stored one after another. */
  const flush = (): Promise<void> => {
    storing = storing.then(storeNow);
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
    setInterval(() => (batch.isEmpty() && lost === 0 ? undefined : void flush()), BATCH_MS),
    setInterval(clean, CLEANING_MS),
  ];
  for (const timer of timers) timer.unref();
  return {
    record: (entry) => batch.add(entry),
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
