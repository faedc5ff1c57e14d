import type { AuditTrail } from '../kernel/ports/audit-trail.js';
import { entryWriter, type EntryWriterOptions } from './entry-writer.js';

export type AuditTrailOptions = EntryWriterOptions & { readonly retentionMs: number };

const BATCH_MS = 1_000;
const CLEANING_MS = 3_600_000;
/**
 * A store that is away may take minutes to fail: a list, and the end of the process, wait at most this long for the
 * entries to be stored.
 */
const FLUSH_WAIT_MS = 5_000;

/**
 * Opens an audit trail. Entries are stored once a second, outside the path of calls. Entries that cannot be stored are
 * kept for the next attempt; a batch that may have been stored is written again as it is, until the store takes or
 * refuses it. Entries that the store refuses while it takes others, and those beyond the limits of a batch, are dropped
 * and counted; the count becomes an entry as soon as the store answers. The trail closes its store.
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
