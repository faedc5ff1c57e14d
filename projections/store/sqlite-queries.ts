import type { DatabaseSync } from '@photostructure/sqlite';
import type { Collection, Cursor, FieldValue, Found, Query } from '../kernel/read-store.js';
import { planOf } from './query-plan.js';
import { nextValueSql, pageSql, partsAfter, type Sql } from './query-sql.js';
import { originalText, originalValue, storedQuery } from './stored-text.js';
import { timeLimit } from './time-limit.js';

type Statement = ReturnType<InstanceType<typeof DatabaseSync>['prepare']>;
type PageRow = [element: Uint8Array, value: FieldValue, key: string];

const MAX_STATEMENTS = 300;

/** The queries of a file of views. */
export type SqliteQueries = {
  find(collection: Collection, query: Query): Found;
  findDistinct(collection: Collection, query: Query): { values: readonly FieldValue[]; hasMore: boolean };
};

/** Statements by their text: filters come in few shapes, and preparing costs more than a page. */
const statements = (db: InstanceType<typeof DatabaseSync>): ((text: string) => Statement) => {
  const prepared = new Map<string, Statement>();
  return (text) => {
    const known = prepared.get(text);
    if (known) return known;
    if (prepared.size >= MAX_STATEMENTS) prepared.clear();
    const statement = db.prepare(text, { returnArrays: true });
    prepared.set(text, statement);
    return statement;
  };
};

const foundOf = (rows: readonly PageRow[], limit: number): Found => {
  const page = rows.slice(0, limit);
  const elements = page.map(([element]) => element);
  const last = page.at(-1);
  if (rows.length <= limit || !last) return { elements };
  const next: Cursor = { value: originalValue(last[1]), key: originalText(last[2]) };
  return { elements, next };
};

/** Answers queries over one connection, each within so many milliseconds. */
export const sqliteQueries = (db: InstanceType<typeof DatabaseSync>, limitMs: number): SqliteQueries => {
  const statement = statements(db);
  const withinTime = timeLimit(db, limitMs);
  const all = ({ text, values }: Sql): unknown[] => statement(text).all(...values);

  const find = (collection: Collection, query: Query): Found => {
    const plan = planOf(collection, query);
    const wanted = query.limit + 1; // one more says whether there are more
    const rows: PageRow[] = [];
    for (const part of partsAfter(query)) {
      if (rows.length >= wanted) break;
      rows.push(...(all(pageSql(collection, plan, { ...query, limit: wanted - rows.length }, part)) as PageRow[]));
    }
    return foundOf(rows, query.limit);
  };

  // One seek for each value: a name with ten thousand versions costs what a name with one costs.
  const findDistinct = (collection: Collection, query: Query): { values: readonly FieldValue[]; hasMore: boolean } => {
    const plan = planOf(collection, query);
    const skip = query.offset ?? 0;
    const values: FieldValue[] = [];
    let after = query.after;
    while (values.length <= skip + query.limit) {
      const [row] = all(nextValueSql(collection, plan, { ...query, ...(after && { after }) })) as [FieldValue][];
      if (!row) return { values: values.slice(skip).map(originalValue), hasMore: false };
      values.push(row[0]);
      after = { value: row[0], key: '' };
    }
    return { values: values.slice(skip, -1).map(originalValue), hasMore: true };
  };

  return {
    find: (collection, query) => withinTime(() => find(collection, storedQuery(query))),
    findDistinct: (collection, query) => withinTime(() => findDistinct(collection, storedQuery(query))),
  };
};
