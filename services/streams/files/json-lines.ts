import type { EventRow } from './event-row.js';
import { COLUMNS, type ColumnType, type FileFormat } from './file-format.js';

const MICROS_PER_MS = 1_000n;

/** RFC 3339 in UTC, with six digits of a second. */
const timeText = (micros: bigint): string => {
  const inMs = ((micros % MICROS_PER_MS) + MICROS_PER_MS) % MICROS_PER_MS; // from 0 to 999, also before 1970
  const text = new Date(Number((micros - inMs) / MICROS_PER_MS)).toISOString().slice(0, -1);
  return `${text}${String(inMs).padStart(3, '0')}Z`;
};

type Value = EventRow[keyof EventRow];

const WRITE: Readonly<Record<ColumnType, (value: Value) => string>> = {
  int32: String,
  int64: String,
  text: (value) => JSON.stringify(value),
  time: (value) => `"${timeText(value as bigint)}"`,
  json: (value) => Buffer.from(value as Uint8Array).toString(),
};

const lineOf = (row: EventRow): string => {
  const members = COLUMNS.filter(({ name }) => row[name] !== undefined).map(
    ({ name, type }) => `"${name}":${WRITE[type](row[name])}`,
  );
  return `{${members.join(',')}}\n`;
};

/** One JSON object a line with the columns as its members; `body` is itself JSON, and an absent value has no member. */
export const jsonLines: FileFormat = {
  extension: 'jsonl',
  encode: (rows) => Buffer.from(rows.map(lineOf).join('')),
};
