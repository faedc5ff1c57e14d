import type { Document } from 'mongodb';
import type { Collection, Query } from '../../runtime/read-store.js';
import { type Asking, asked, type Question } from './pages.js';

/** What the server says of one question. */
export type Explained = { readonly keys: number; readonly documents: number; readonly stages: readonly string[] };

const isDocument = (value: unknown): value is Document => typeof value === 'object' && value !== null;

/** Every value of this name in an explanation, however deep, but not in the plans that were not taken. */
const everywhere = (explanation: unknown, name: string): readonly unknown[] => {
  if (!isDocument(explanation)) return [];
  return Object.entries(explanation).flatMap(([key, value]: [string, unknown]): readonly unknown[] => {
    if (key === name) return [value];
    return key === 'rejectedPlans' || key === 'allPlansExecution' ? [] : everywhere(value, name);
  });
};

const sum = (counts: readonly unknown[]): number => counts.reduce<number>((total, each) => total + Number(each), 0);

/** Has a question answered and explained. */
export const explained = async (
  asking: Asking,
  collection: Collection,
  where: Query['where'],
  question: Question,
): Promise<Explained> => {
  const explanation: unknown = await asked(asking, collection, where, question).explain('executionStats');
  return {
    keys: sum(everywhere(explanation, 'totalKeysExamined')),
    documents: sum(everywhere(explanation, 'totalDocsExamined')),
    stages: everywhere(explanation, 'stage').map(String),
  };
};
