import type { Document } from 'mongodb';
import type { Collection, Query } from '../../runtime/read-store.js';
import { type PageReader, findRows, type PageQuery } from './pages.js';

/** Index entries and documents that the server examined for one query, and the stages of its plan. */
export type ExplainedQuery = { readonly keys: number; readonly documents: number; readonly stages: readonly string[] };

const isDocument = (value: unknown): value is Document => typeof value === 'object' && value !== null;

/** Collects every value with this name in an explanation, at any depth, except in rejected plans. */
const everywhere = (explanation: unknown, name: string): readonly unknown[] => {
  if (!isDocument(explanation)) return [];
  return Object.entries(explanation).flatMap(([key, value]: [string, unknown]): readonly unknown[] => {
    if (key === name) return [value];
    return key === 'rejectedPlans' || key === 'allPlansExecution' ? [] : everywhere(value, name);
  });
};

const sum = (counts: readonly unknown[]): number => counts.reduce<number>((total, each) => total + Number(each), 0);

/** Runs one query and has the server explain it. */
export const explainQuery = async (
  reader: PageReader,
  collection: Collection,
  where: Query['where'],
  pageQuery: PageQuery,
): Promise<ExplainedQuery> => {
  const explanation: unknown = await findRows(reader, collection, where, pageQuery).explain('executionStats');
  return {
    keys: sum(everywhere(explanation, 'totalKeysExamined')),
    documents: sum(everywhere(explanation, 'totalDocsExamined')),
    stages: everywhere(explanation, 'stage').map(String),
  };
};
