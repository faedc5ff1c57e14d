import type { DatabaseSync } from '@photostructure/sqlite';

/**
 * SQL condition that counts an entry of the index that a query scans, or of the table when there is no index. The
 * database evaluates conditions that the index can answer before any others, and these in their order.
 */
export const COUNT_KEY = 'count_key(rowid)';

/**
 * SQL condition that counts a row read because of columns that the index does not have: no index contains `position`.
 */
export const COUNT_DOCUMENT = 'count_document(position)';

/** Counts since the last `take`. */
export type RowCounts = {
  readonly take: () => { readonly keys: number; readonly documents: number };
  /** Adds index entries that a query cannot count by itself. */
  readonly add: (keys: number) => void;
};

/** Registers the SQL functions that queries count with. */
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
