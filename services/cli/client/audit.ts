import { setTimeout as pause } from 'node:timers/promises';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AuditListSchema, AuditService } from '../../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import { OperatorError } from '../../config/operator-errors.js';
import { connected } from './connection/connect.js';
import type { Connection } from './connection/connection.js';
import type { ConnectionFlags } from './connection/profile.js';
import { jsonOfMessage, print } from './output/documents.js';
import { cell, coloured, oneLine, timeCell } from './output/text.js';

/** The flags of `audit`. */
export type AuditFlags = ConnectionFlags & {
  readonly project?: string;
  readonly domain?: string;
  readonly actor?: string;
  readonly since: string;
  readonly follow: boolean;
  readonly json: boolean;
};

type ShownEntry = {
  readonly id: string | number;
  readonly kind: string;
  readonly at: string;
  readonly count: string | number;
  readonly principal: string;
  readonly clientId: string;
  readonly transport: string;
  readonly address: string;
  readonly action: string;
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  readonly code: string;
  readonly reason: string;
};

const POLL_MS = 1_000;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The time of `--since`, in milliseconds since 1970: a time before `now` (`15m`), or a date.
 *
 * @throws {OperatorError} for other text.
 */
const timeOf = (since: string, now: number): number => {
  const [, count, unit = ''] = /^(\d+)([smhd])$/u.exec(since) ?? [];
  const ms = count === undefined ? Date.parse(since) : now - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(ms))
    throw new OperatorError(`--since ${since}: must be such as 15m, or a time such as 2026-03-02T09:58:16Z`);
  return ms;
};

const targetOf = ({ project, domain, name }: ShownEntry): string =>
  [project, domain, name].filter((part) => part !== '').join('/');

const timesOf = ({ count }: ShownEntry): string => (Number(count) > 1 ? `${count} times` : '');

const lineOf = (entry: ShownEntry): string =>
  [
    timeCell(entry.at),
    cell(entry.principal || entry.clientId || '-', 16),
    cell(entry.code || entry.kind, 17, entry.code === 'OK' ? 'green' : 'red'),
    cell(entry.action || '-', 30),
    oneLine(`${targetOf(entry)} ${timesOf(entry)} ${entry.reason}`),
    coloured([entry.transport, entry.address].join(' ').trim(), 'grey'),
  ]
    .join('  ')
    .trimEnd();

type AuditRange = { readonly after: bigint; readonly since: number };

const pageAfter = async (
  connection: Connection,
  { after, since }: AuditRange,
  { project = '', domain = '', actor = '' }: AuditFlags,
): Promise<readonly ShownEntry[]> => {
  const request = { project, domain, actor, since: timestampFromMs(since), after };
  const page = await connection.call(AuditService.method.list, request);
  return (jsonOfMessage(AuditListSchema, page) as unknown as { readonly entries: readonly ShownEntry[] }).entries;
};

/**
 * Prints the entries of the audit trail, one a line; with `follow` until Ctrl-C.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const audit = (flags: AuditFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const since = timeOf(flags.since, Date.now());
    for (let after = 0n; ;) {
      const entries = await pageAfter(connection, { after, since }, flags);
      for (const entry of entries) print(flags.json ? JSON.stringify(entry) : lineOf(entry));
      after = BigInt(entries.at(-1)?.id ?? after);
      if (entries.length === 0 && !flags.follow) return;
      if (entries.length === 0) await pause(POLL_MS);
    }
  });
