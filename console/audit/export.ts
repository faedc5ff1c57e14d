import { toJson } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';

import { type AuditEntry, AuditEntrySchema } from '../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import { msOf } from '../look/times.js';

const timeText = (at: Timestamp | undefined): string => (at ? new Date(msOf(at) ?? 0).toISOString() : '');

/** The columns of the table, by the names that the fields have in the interface. */
const COLUMNS: readonly (readonly [name: string, text: (entry: AuditEntry) => string])[] = [
  ['id', ({ id }) => String(id)],
  ['kind', ({ kind }) => kind],
  ['at', ({ at }) => timeText(at)],
  ['last_at', ({ lastAt }) => timeText(lastAt)],
  ['count', ({ count }) => String(count)],
  ['principal', ({ principal }) => principal],
  ['issuer', ({ issuer }) => issuer],
  ['client_id', ({ clientId }) => clientId],
  ['transport', ({ transport }) => transport],
  ['address', ({ address }) => address],
  ['action', ({ action }) => action],
  ['project', ({ project }) => project],
  ['domain', ({ domain }) => domain],
  ['name', ({ name }) => name],
  ['code', ({ code }) => code],
  ['reason', ({ reason }) => reason],
  ['request_id', ({ requestId }) => requestId],
  ['position', ({ position }) => String(position)],
];

/** Spreadsheets run a text that begins like this as a formula; callers choose names and ids of requests. */
const FORMULA = /^[=+\-@\t\r]/u;

const cellOf = (text: string): string => {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** The entries as a table of comma-separated values (RFC 4180), with a line of names before them. */
export const auditCsv = (entries: readonly AuditEntry[]): string =>
  [COLUMNS.map(([name]) => name), ...entries.map((entry) => COLUMNS.map(([, text]) => cellOf(text(entry))))]
    .map((line) => `${line.join(',')}\r\n`)
    .join('');

/** The entries as an array of JSON, each in the JSON form of its message: fields with their default are left out. */
export const auditJson = (entries: readonly AuditEntry[]): string =>
  JSON.stringify(
    entries.map((entry) => toJson(AuditEntrySchema, entry)),
    null,
    1,
  );
