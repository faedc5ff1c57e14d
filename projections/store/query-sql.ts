import type { Collection, Condition, FieldValue, Query } from '../kernel/read-store.js';
import type { Plan } from './query-plan.js';
import { columnOf, indexOf, tableOf } from './tables.js';

/** SQL and what is bound to its question marks. */
export type Sql = { readonly text: string; readonly values: readonly FieldValue[] };

/** What follows a value, where each counts once. */
const valuesAfter = ({ orderBy, after }: Pick<Query, 'orderBy' | 'after'>): Sql => {
  const column = columnOf(orderBy.field);
  if (after?.value === undefined || after.value === null) return { text: `${column} IS NOT NULL`, values: [] };
  return { text: `${column} ${orderBy.direction === 'ascending' ? '>' : '<'} ?`, values: [after.value] };
};

const directionOf = ({ orderBy }: Pick<Query, 'orderBy'>): string =>
  orderBy.direction === 'ascending' ? 'ASC' : 'DESC';

const conditionSql = (condition: Condition): Sql => {
  const column = columnOf(condition.field);
  if (condition.is === 'contains') return { text: `instr(${column}, ?) > 0`, values: [condition.value] };
  if ('values' in condition) {
    const list = JSON.stringify(condition.values);
    return { text: `${column} ${condition.is.toUpperCase()} (SELECT value FROM json_each(?))`, values: [list] };
  }
  if (condition.value !== null) return { text: `${column} ${condition.is} ?`, values: [condition.value] };
  if (condition.is === '=') return { text: `${column} IS NULL`, values: [] };
  return { text: condition.is === '<>' ? `${column} IS NOT NULL` : 'FALSE', values: [] };
};

/**
 * The parts of an order that follow a place, in order. Empty values are the smallest, and a comparison never finds
 * them: they are a part of their own.
 */
export const partsAfter = ({ orderBy, after }: Pick<Query, 'orderBy' | 'after'>): readonly Sql[] => {
  if (!after) return [{ text: 'TRUE', values: [] }];
  const column = columnOf(orderBy.field);
  const isUp = orderBy.direction === 'ascending';
  const beyond = isUp ? '>' : '<';
  if (after.value !== null) {
    const filled = { text: `(${column}, key) ${beyond} (?, ?)`, values: [after.value, after.key] };
    return isUp ? [filled] : [filled, { text: `${column} IS NULL`, values: [] }];
  }
  const empty = { text: `${column} IS NULL AND key ${beyond} ?`, values: [after.key] };
  return isUp ? [empty, { text: `${column} IS NOT NULL`, values: [] }] : [empty];
};

/** What stands between SELECT and ORDER BY. */
const fromWhere = (collection: Collection, plan: Plan, where: readonly Condition[], part: Sql): Sql => {
  const conditions = [...where.map(conditionSql), part];
  const by = plan.index ? ` INDEXED BY ${indexOf(collection, plan.index)}` : '';
  // Looked at on every 64th row: a call out of the database for each would cost more than the walk.
  const limit = plan.walks ? '(rowid & 63 OR within_time()) AND ' : '';
  return {
    text: `FROM ${tableOf(collection)}${by} WHERE ${limit}${conditions.map(({ text }) => text).join(' AND ')}`,
    values: conditions.flatMap(({ values }) => values),
  };
};

/** One page of one part of an order: element, sort value and key of each document. */
export const pageSql = (collection: Collection, plan: Plan, query: Query, part: Sql): Sql => {
  const column = columnOf(query.orderBy.field);
  const direction = directionOf(query);
  const { limit, offset: skip = 0 } = query;
  const order = (...names: string[]): string =>
    `ORDER BY ${names.map((each) => `${each} ${direction}`).join(', ')} LIMIT ?`;
  const one = (where: readonly Condition[]): Sql => {
    const from = fromWhere(collection, plan, where, part);
    const select = `SELECT coalesce(element, answer) AS element, ${column} AS sort, key ${from.text}`;
    return { text: `${select} ${order(column, 'key')}`, values: from.values };
  };
  const alternatives = plan.alternatives.map(one);
  const [first] = alternatives;
  if (alternatives.length === 1 && first)
    return { text: `${first.text} OFFSET ?`, values: [...first.values, limit, skip] };
  const all = alternatives.map(({ text }) => `SELECT * FROM (${text})`).join(' UNION ALL ');
  return {
    text: `${all} ${order('sort', 'key')} OFFSET ?`,
    values: [...alternatives.flatMap(({ values }) => [...values, limit + skip]), limit, skip],
  };
};

/** The next value of the field that a query sorts by, if there is one. */
export const nextValueSql = (collection: Collection, plan: Plan, query: Query): Sql => {
  const alternatives = plan.alternatives.map((where) => fromWhere(collection, plan, where, valuesAfter(query)));
  const column = columnOf(query.orderBy.field);
  const order = `ORDER BY value ${directionOf(query)} LIMIT 1`;
  const each = alternatives.map(({ text }) => `SELECT * FROM (SELECT ${column} AS value ${text} ${order})`);
  return { text: `${each.join(' UNION ALL ')} ${order}`, values: alternatives.flatMap(({ values }) => values) };
};
