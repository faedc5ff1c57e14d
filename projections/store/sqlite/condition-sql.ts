import { QueryTooSlow } from '../../../services/kernel/fault.js';
import { ANY_CHARACTER, ANY_TEXT, patternTokens } from '../../query/filters/like-pattern.js';
import type { Condition, FieldValue } from '../../runtime/read-store.js';
import { columnOf, tableOf } from './tables.js';

/** An SQL text and the values bound to its question marks. */
export type Sql = { readonly text: string; readonly values: readonly (FieldValue | bigint)[] };

const SIGNS = /[*?[]/u;

/** Longest GLOB pattern that SQLite accepts, in bytes. */
const MAX_GLOB_BYTES = 50_000;

/**
 * Converts a pattern to a GLOB pattern; GLOB is case-sensitive.
 *
 * @throws {QueryTooSlow} when it is longer than SQLite accepts.
 */
const globOf = (pattern: string): string => {
  const parts = (patternTokens(pattern) ?? []).map((part) => {
    if (part === ANY_TEXT) return '*';
    if (part === ANY_CHARACTER) return '?';
    return SIGNS.test(part) ? `[${part}]` : part;
  });
  const glob = parts.join('');
  if (Buffer.byteLength(glob) > MAX_GLOB_BYTES)
    throw new QueryTooSlow(`a filter value makes a pattern of more than ${MAX_GLOB_BYTES} bytes`);
  return glob;
};

const PAIR: Readonly<Record<string, string>> = {
  key: `json_extract(pair.value, '$[0]')`,
  value: `json_extract(pair.value, '$[1]')`,
};

const joined = (conditions: readonly Sql[], joint = ' AND '): Sql => ({
  text: conditions.map(({ text }) => text).join(joint),
  values: conditions.flatMap(({ values }) => values),
});

const keyOf = (column: string, condition: Extract<Condition, { is: 'key of' }>): Sql => {
  const { text, values } = joined(condition.where.map((each) => conditionSql(each)));
  const other = tableOf(condition.collection);
  return { text: `EXISTS (SELECT 1 FROM ${other} AS other WHERE other.key = ${column} AND ${text})`, values };
};

type HasPair = Extract<Condition, { is: 'has pair' }>;

/** The texts that the stored pairs contain wherever the condition holds: the beginning and the end of the pair. */
const textsOfPair = ({ where }: HasPair): readonly string[] => {
  const texts = { key: ['[', ','], value: [',', ']'] } as const;
  return where.flatMap((each) => {
    const around = each.field === 'key' || each.field === 'value' ? texts[each.field] : undefined;
    if (each.is !== '=' || around === undefined || each.value === null) return [];
    return [`${around[0]}${JSON.stringify(each.value)}${around[1]}`];
  });
};

/** Looks for the texts first: to take all pairs apart takes much longer. */
const hasPair = (column: string, condition: HasPair): Sql => {
  const pair = joined(condition.where.map((each) => conditionSql(each, PAIR[each.field])));
  const exists = {
    text: `EXISTS (SELECT 1 FROM json_each(${column}) AS pair WHERE ${pair.text})`,
    values: pair.values,
  };
  const contained = textsOfPair(condition).map((text) => ({ text: `instr(${column}, ?) > 0`, values: [text] }));
  return joined([...contained, exists]);
};

const compared = (column: string, is: string, value: FieldValue): Sql => {
  if (value !== null) return { text: `${column} ${is} ?`, values: [value] };
  if (is === '=') return { text: `${column} IS NULL`, values: [] };
  return { text: is === '<>' ? `${column} IS NOT NULL` : 'FALSE', values: [] };
};

const membership = (column: string, is: 'in' | 'not in', values: readonly FieldValue[]): Sql => ({
  text: `${column} ${is.toUpperCase()} (SELECT value FROM json_each(?))`,
  values: [JSON.stringify(values)],
});

const matched = (column: string, is: 'like' | 'not like', pattern: string): Sql => ({
  text: `${column} ${is === 'not like' ? 'NOT ' : ''}GLOB ?`,
  values: [globOf(pattern)],
});

const containing = (column: string, texts: readonly string[]): Sql => ({
  text: texts.map(() => `instr(${column}, ?) > 0`).join(' AND '),
  values: texts,
});

/**
 * Converts a condition to SQL. `table` qualifies the column where a table inside the condition might hide it; without
 * it, columns are those of the innermost table.
 */
export const conditionSql = (condition: Condition, column = columnOf(condition.field), table = ''): Sql => {
  const outer = table ? `${table}.${column}` : column;
  if ('collection' in condition) return keyOf(outer, condition);
  if ('where' in condition) return hasPair(outer, condition);
  if ('pattern' in condition) return matched(column, condition.is, condition.pattern);
  if ('values' in condition) return membership(column, condition.is, condition.values);
  if ('texts' in condition) return containing(column, condition.texts);
  if (condition.is === 'contains') return containing(column, [condition.value]);
  return compared(column, condition.is, condition.value);
};
