import type { DatabaseSync } from '@photostructure/sqlite';

/**
 * Counts an entry of the index that a query walks, or of the table where it has none. The database looks at what the
 * index holds before anything else, and at these in their order.
 */
export const COUNT_KEY = 'count_key(rowid)';

/** Counts a row that is read for what the index does not hold: `position` is in none. */
export const COUNT_DOCUMENT = 'count_document(position)';

/** What has been counted since it was last asked. */
export type RowCounts = {
  readonly take: () => { readonly keys: number; readonly documents: number };
  /** Adds entries that queries cannot count by themselves. */
  readonly add: (keys: number) => void;
};

/** Makes the functions that queries count with. */
export const rowCounts = (db: InstanceType<typeof DatabaseSync>): RowCounts => {
  let keys = 0;
  let documents = 0;
  db.function('count_key', { directOnly: true }, (_rowid: unknown) => {
    keys += 1;
    return 1;
  });
  db.function('count_document', { directOnly: true }, (_position: unknown) => {
    documents += 1;
    return 1;
  });
  return {
    add: (more) => {
      keys += more;
    },
    take: () => {
      const counted = { keys, documents };
      keys = 0;
      documents = 0;
      return counted;
    },
  };
};
