import type { Collection, Condition, Query } from '../../runtime/read-store.js';
import { conditionSql, type Sql } from './condition-sql.js';
import { COUNT_DOCUMENT, COUNT_KEY } from './examined-rows.js';
import type { Plan } from '../query-plan.js';
import { columnOf, indexOf, tableOf } from './tables.js';
import { excludesEmpty } from '../tightened-query.js';

/** A planned query on a collection. `isCounted` is true when the examined rows are counted. */
export type PlannedQuery = { readonly collection: Collection; readonly plan: Plan; readonly isCounted: boolean };

/** Condition for the values after the cursor's value, for queries of distinct values. */
const valuesAfter = ({ orderBy, after }: Pick<Query, 'orderBy' | 'after'>): Sql => {
  const column = columnOf(orderBy.field);
  if (after?.value === undefined || after.value === null) return { text: `${column} IS NOT NULL`, values: [] };
  return { text: `${column} ${orderBy.direction === 'ascending' ? '>' : '<'} ?`, values: [after.value] };
};

const directionOf = ({ orderBy }: Pick<Query, 'orderBy'>): string =>
  orderBy.direction === 'ascending' ? 'ASC' : 'DESC';

/**
 * Ranges of the order that follow the cursor, in order. Empty values are the smallest, and a comparison never matches
 * them, so they are a range of their own.
 */
export const conditionsAfter = (query: Query): readonly Sql[] => {
  const { orderBy, after } = query;
  if (!after) return [{ text: 'TRUE', values: [] }];
  const column = columnOf(orderBy.field);
  const isUp = orderBy.direction === 'ascending';
  const operator = isUp ? '>' : '<';
  if (after.value !== null) {
    const filled = { text: `(${column}, key) ${operator} (?, ?)`, values: [after.value, after.key] };
    return isUp || excludesEmpty(query) ? [filled] : [filled, { text: `${column} IS NULL`, values: [] }];
  }
  const empty = { text: `${column} IS NULL AND key ${operator} ?`, values: [after.key] };
  return isUp ? [empty, { text: `${column} IS NOT NULL`, values: [] }] : [empty];
};

/**
 * Conditions that stand before all others. The time limit is checked at every 64th row: a call from the database into
 * JavaScript for each row would cost more than the scan.
 */
const watches = ({ plan, isCounted }: PlannedQuery, readsDocument: boolean): readonly string[] => [
  ...(isCounted ? [COUNT_KEY] : []),
  ...(plan.scans ? ['(rowid & 63 OR within_time())'] : []),
  ...(isCounted && readsDocument ? [COUNT_DOCUMENT] : []),
];

const isIn = (index: readonly string[] | undefined, { field, is }: Condition): boolean =>
  index?.includes(field) === true && is !== 'key of' && is !== 'has pair';

/** The SQL from FROM up to ORDER BY. */
const fromWhere = (run: PlannedQuery, where: readonly Condition[], part: Sql, readsDocument: boolean): Sql => {
  const { collection, plan } = run;
  const table = tableOf(collection);
  const conditions = [...where.map((each) => conditionSql(each, columnOf(each.field), table)), part];
  const by = plan.index ? ` INDEXED BY ${indexOf(collection, plan.index)}` : '';
  const all = [...watches(run, readsDocument), ...conditions.map(({ text }) => text)];
  return { text: `FROM ${table}${by} WHERE ${all.join(' AND ')}`, values: conditions.flatMap(({ values }) => values) };
};

const united = (alternatives: readonly Sql[]): Sql => ({
  text: alternatives.map(({ text }) => text).join(' UNION ALL '),
  values: alternatives.flatMap(({ values }) => values),
});

/**
 * SQL for one page of one range of the order: element, sort value and key of each document. Alternatives are each in
 * order, and are merged only as far as the page needs.
 */
export const pageSql = (run: PlannedQuery, query: Query, part: Sql): Sql => {
  const column = columnOf(query.orderBy.field);
  const direction = directionOf(query);
  const one = (where: readonly Condition[]): Sql => {
    const { text, values } = fromWhere(run, where, part, true);
    return { text: `SELECT coalesce(element, answer) AS element, ${column} AS sort, key AS key ${text}`, values };
  };
  const { text, values } = united(run.plan.alternatives.map(one));
  return {
    text: `${text} ORDER BY sort ${direction}, key ${direction} LIMIT ? OFFSET ?`,
    values: [...values, query.limit, query.offset ?? 0],
  };
};

/** SQL for the number of documents with each value of a field. */
export const countsSql = (run: PlannedQuery, by: string): Sql => {
  const column = columnOf(by);
  const filled: Sql = { text: `${column} IS NOT NULL`, values: [] };
  const { text, values } = united(
    run.plan.alternatives.map((where) => {
      const from = fromWhere(run, where, filled, false);
      return { ...from, text: `SELECT ${column} AS value ${from.text}` };
    }),
  );
  return { text: `SELECT value, count(*) AS count FROM (${text}) GROUP BY value`, values };
};

/** SQL for the sort value `offset` entries after the start of the page, over an index that has the query's order. */
export const sortAtSql = (run: PlannedQuery, query: Query, offset: number): Sql => {
  const column = columnOf(query.orderBy.field);
  const direction = directionOf(query);
  const isServed = (each: Condition): boolean => isIn(run.plan.index, each) && each.is === '=';
  const [part = { text: 'TRUE', values: [] }] = conditionsAfter(query);
  const { text, values } = fromWhere({ ...run, isCounted: false }, query.where.filter(isServed), part, false);
  return {
    text: `SELECT ${column} AS sort ${text} ORDER BY sort ${direction}, key ${direction} LIMIT 1 OFFSET ?`,
    values: [...values, offset],
  };
};

/** SQL for the next value of the sort field, if there is one. */
export const nextValueSql = (run: PlannedQuery, query: Query): Sql => {
  const column = columnOf(query.orderBy.field);
  const readsDocument = !query.where.every((each) => isIn(run.plan.index, each));
  const { text, values } = fromWhere(run, query.where, valuesAfter(query), readsDocument);
  return { text: `SELECT ${column} AS value ${text} ORDER BY value ${directionOf(query)} LIMIT 1`, values };
};
