import type { Collection, FieldValue, Query } from '../../runtime/read-store.js';
import { separateExclusions, type FoundValues } from '../distinct-values.js';
import { valuesPlanOf } from '../query-plan.js';
import { originalValue, storedQuery } from '../stored-text.js';
import { tightened } from '../tightened-query.js';
import type { Sql } from './condition-sql.js';
import { nextValueSql } from './query-sql.js';

/**
 * Finds the distinct values of a field one at a time, so that a value with ten thousand documents costs as much as a
 * value with one.
 */
export const distinctValues = (
  firstRow: (sql: Sql) => unknown,
  collection: Collection,
  requested: Query,
  isCounted: boolean,
): FoundValues => {
  const { rest: query, isExcluded } = separateExclusions(storedQuery(requested));
  const run = { collection, plan: valuesPlanOf(collection, query), isCounted };
  const skip = query.offset ?? 0;
  const values: FieldValue[] = [];
  let after = query.after;
  while (values.length <= skip + query.limit) {
    const row = firstRow(nextValueSql(run, tightened({ ...query, ...(after && { after }) }))) as
      | [FieldValue]
      | undefined;
    if (!row) return { values: values.slice(skip).map(originalValue), hasMore: false };
    if (!isExcluded(row[0])) values.push(row[0]);
    after = { value: row[0], key: '' };
  }
  return { values: values.slice(skip, -1).map(originalValue), hasMore: true };
};
