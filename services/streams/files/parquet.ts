import { ByteWriter, type ColumnSource, parquetWrite, type SchemaElement } from 'hyparquet-writer';
import type { EventRow } from './event-row.js';
import { type EventColumn, COLUMNS, type ColumnType, type FileFormat } from './file-format.js';

/** `body` is a text and no JSON column: readers differ in the type that they make of one. */
const ELEMENTS: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
};

const elementOf = ({ name, type, isRequired }: EventColumn): SchemaElement => ({
  name,
  repetition_type: isRequired ? 'REQUIRED' : 'OPTIONAL',
  ...ELEMENTS[type],
});

const SCHEMA: SchemaElement[] = [{ name: 'root', num_children: COLUMNS.length }, ...COLUMNS.map(elementOf)];

/** Bodies are all different, so neither a dictionary nor the least and greatest of them is of use. */
const dataOf = ({ name, type }: EventColumn, rows: readonly EventRow[]): ColumnSource => ({
  name,
  data: rows.map((row) => row[name]),
  ...(type === 'json' && { encoding: 'PLAIN', statistics: false }),
});

/** Apache Parquet, compressed with Snappy; all rows of a file are in one row group. */
export const parquet: FileFormat = {
  extension: 'parquet',
  encode: (rows) => {
    const writer = new ByteWriter();
    const columnData = COLUMNS.map((column) => dataOf(column, rows));
    // The writer waits for nothing between the row groups of a buffer, so the file is whole when it returns.
    void parquetWrite({ writer, columnData, schema: SCHEMA, rowGroupSize: rows.length, createdBy: 'flightlog' });
    return writer.getBytes();
  },
};
