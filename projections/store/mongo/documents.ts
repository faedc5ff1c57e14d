import type { Binary } from 'mongodb';
import {
  type Collection,
  type FieldType,
  type FieldValue,
  pairsText,
  type StoredDocument,
} from '../../runtime/read-store.js';
import { keptParts, partNumbers } from '../../query/text-parts.js';
import { originalText, originalValue, storedText } from '../stored-text.js';

type Pair = { readonly key: string; readonly value: string };

/** A value as it stands in the database. */
export type Cell = FieldValue | readonly Pair[];

/** How many bytes of each there are, where they are not in the document itself. */
export type Lengths = { readonly element: number; readonly answer?: number; readonly state?: number };

/** A document as it stands in the database. */
export type Row = {
  readonly _id: string;
  readonly position: bigint;
  /** How often it was written again at this position. */
  readonly rewrites?: number;
  readonly f: Readonly<Record<string, Cell>>;
  /** The parts of each text that is searched, as numbers. */
  readonly s?: Readonly<Record<number, readonly number[]>>;
  /** What a list shows. */
  readonly element: Binary;
  /** What Get answers, where that is something else. */
  readonly answer?: Binary;
  readonly state?: Binary;
  /** The bytes lie beside the document, in this order. */
  readonly large?: Lengths;
};

/** What is given to the driver for a {@link Row}. */
export type Written = Omit<Row, 'element' | 'answer' | 'state'> & {
  readonly element: Uint8Array;
  readonly answer?: Uint8Array;
  readonly state?: Uint8Array;
};

const storedPairs = (text: string): readonly Pair[] =>
  (JSON.parse(text) as [string, string][]).map(([key, value]) => ({ key: storedText(key), value: storedText(value) }));

const cellOf = (type: FieldType, value: FieldValue): Cell => {
  if (typeof value !== 'string') return value;
  return type === 'pairs' ? storedPairs(value) : storedText(value);
};

const isPairs = (cell: Cell): cell is readonly Pair[] => Array.isArray(cell);

/** The value that stands in the database in this form. */
export const valueOf = (cell: Cell | undefined): FieldValue => {
  if (cell === undefined) return null;
  if (!isPairs(cell)) return originalValue(cell);
  return pairsText(cell.map(({ key, value }) => [originalText(key), originalText(value)]));
};

/** The bytes of their own: what the driver gives is a part of all that came with it. */
export const bytesOf = (binary: Binary): Uint8Array => new Uint8Array(binary.value());

const storedValue = (value: FieldValue | undefined): FieldValue =>
  typeof value === 'string' ? storedText(value) : (value ?? null);

/** What is searched of a document; a number stands for a part in its scope. */
const searchedOf = ({ searched }: Collection, { fields }: StoredDocument): Pick<Written, 's'> => {
  if (!searched) return {};
  const numbers = searched.map(({ field, scope }) => {
    const text = fields[field];
    const values = scope.map((each) => storedValue(fields[each]));
    return typeof text === 'string' ? partNumbers(values, keptParts(storedText(text))) : [];
  });
  return { s: Object.fromEntries(numbers.entries()) };
};

/** A document as it is written. */
export const writtenOf = (collection: Collection, document: StoredDocument): Written => {
  const { fields } = collection;
  const { key, position, answer, element, state } = document;
  return {
    _id: storedText(key),
    position,
    f: Object.fromEntries(
      Object.entries(fields).map(([field, type]) => [field, cellOf(type, document.fields[field] ?? null)]),
    ),
    ...searchedOf(collection, document),
    element: element ?? answer,
    ...(element && { answer }),
    ...(state && { state }),
  };
};

/** The document that a row is, with its bytes. */
export const documentOf = (
  fields: Collection['fields'],
  row: Row,
  { element, answer, state }: Pick<Written, 'element' | 'answer' | 'state'>,
): StoredDocument => {
  return {
    key: originalText(row._id),
    position: row.position,
    fields: Object.fromEntries(Object.keys(fields).map((field) => [field, valueOf(row.f[field])])),
    answer: answer ?? element,
    ...(answer && { element }),
    ...(state && { state }),
  };
};
