import type { Binary } from 'mongodb';
import {
  type Collection,
  type FieldType,
  type FieldValue,
  pairsText,
  type StoredDocument,
} from '../../runtime/read-store.js';
import { indexedTrigrams, trigramHashes } from '../../query/filters/trigrams.js';
import { originalText, originalValue, storedText } from '../stored-text.js';

type Pair = { readonly key: string; readonly value: string };

/** A stored field value. */
export type StoredField = FieldValue | readonly Pair[];

/** Lengths in bytes of the encoded messages, where they are stored apart from the document. */
export type MessageLengths = { readonly element: number; readonly answer?: number; readonly state?: number };

/** A stored document. */
export type Row = {
  readonly _id: string;
  readonly position: bigint;
  /** Number of rewrites of the document at this position. */
  readonly rewrites?: number;
  readonly f: Readonly<Record<string, StoredField>>;
  /** Hashes of the trigrams of each searched text, by the text's index in the collection's `searched`. */
  readonly s?: Readonly<Record<number, readonly number[]>>;
  /** The element of a list response. */
  readonly element: Binary;
  /** The response of Get, where it differs from `element`. */
  readonly answer?: Binary;
  readonly state?: Binary;
  /** Set when the bytes are stored apart, concatenated in this order. */
  readonly large?: MessageLengths;
};

/** A {@link Row} as it is passed to the driver. */
export type DriverRow = Omit<Row, 'element' | 'answer' | 'state'> & {
  readonly element: Uint8Array;
  readonly answer?: Uint8Array;
  readonly state?: Uint8Array;
};

const storedPairs = (text: string): readonly Pair[] =>
  (JSON.parse(text) as [string, string][]).map(([key, value]) => ({ key: storedText(key), value: storedText(value) }));

const cellOf = (type: FieldType, value: FieldValue): StoredField => {
  if (typeof value !== 'string') return value;
  return type === 'pairs' ? storedPairs(value) : storedText(value);
};

const isPairs = (cell: StoredField): cell is readonly Pair[] => Array.isArray(cell);

/** Converts a stored field value back. */
export const fieldValueOf = (cell: StoredField | undefined): FieldValue => {
  if (cell === undefined) return null;
  if (!isPairs(cell)) return originalValue(cell);
  return pairsText(cell.map(({ key, value }) => [originalText(key), originalText(value)]));
};

/** Copies the bytes: the driver's buffer is a slice of the whole server response. */
export const bytesOfBinary = (binary: Binary): Uint8Array => new Uint8Array(binary.value());

const storedValue = (value: FieldValue | undefined): FieldValue =>
  typeof value === 'string' ? storedText(value) : (value ?? null);

/** Hashes of the trigrams of a document's searched texts, each within its scope. */
const searchedOf = ({ searched }: Collection, { fields }: StoredDocument): Pick<DriverRow, 's'> => {
  if (!searched) return {};
  const numbers = searched.map(({ field, scope }) => {
    const text = fields[field];
    const values = scope.map((each) => storedValue(fields[each]));
    return typeof text === 'string' ? trigramHashes(values, indexedTrigrams(storedText(text))) : [];
  });
  return { s: Object.fromEntries(numbers.entries()) };
};

/** Converts a document to its stored form. */
export const writtenOf = (collection: Collection, document: StoredDocument): DriverRow => {
  const { fields } = collection;
  const { key, position, response, listElement, foldState } = document;
  return {
    _id: storedText(key),
    position,
    f: Object.fromEntries(
      Object.entries(fields).map(([field, type]) => [field, cellOf(type, document.fields[field] ?? null)]),
    ),
    ...searchedOf(collection, document),
    element: listElement ?? response,
    ...(listElement && { answer: response }),
    ...(foldState && { state: foldState }),
  };
};

/** Converts a row and its bytes back to a document. */
export const documentOf = (
  fields: Collection['fields'],
  row: Row,
  { element: listElement, answer, state: foldState }: Pick<DriverRow, 'element' | 'answer' | 'state'>,
): StoredDocument => {
  return {
    key: originalText(row._id),
    position: row.position,
    fields: Object.fromEntries(Object.keys(fields).map((field) => [field, fieldValueOf(row.f[field])])),
    response: answer ?? listElement,
    ...(answer && { listElement }),
    ...(foldState && { foldState }),
  };
};
