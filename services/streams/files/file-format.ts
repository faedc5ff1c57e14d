import type { EventRow } from './event-row.js';

/** The format of the files of an export. */
export type FileFormat = {
  /** The end of the names of files, without the dot. */
  readonly extension: string;
  /** The whole file with these rows, in their order. */
  readonly encode: (rows: readonly EventRow[]) => Uint8Array;
};

/** The type of a column's values. */
export type ColumnType = 'int32' | 'int64' | 'text' | 'time' | 'json';

/** A column of every file; a column that is not required may be null. */
export type EventColumn = { readonly name: keyof EventRow; readonly type: ColumnType; readonly isRequired: boolean };

const required = (name: keyof EventRow, type: ColumnType): EventColumn => ({ name, type, isRequired: true });
const optional = (name: keyof EventRow, type: ColumnType): EventColumn => ({ name, type, isRequired: false });

/** The columns, in the order of the files. A column may be added at the end; none changes its meaning. */
export const COLUMNS: readonly EventColumn[] = [
  required('position', 'int64'),
  required('event_id', 'text'),
  required('stream', 'text'),
  required('revision', 'int64'),
  required('type', 'text'),
  required('schema_version', 'int32'),
  required('occurred_at', 'time'),
  required('recorded_at', 'time'),
  optional('project', 'text'),
  optional('domain', 'text'),
  optional('execution', 'text'),
  optional('node', 'text'),
  optional('attempt', 'int64'), // engines may report up to 2^32 - 1
  optional('phase', 'text'),
  optional('actor', 'text'),
  required('command_id', 'text'),
  optional('correlation_id', 'text'),
  optional('causation_id', 'text'),
  required('body', 'json'),
  optional('unreadable', 'text'),
];
