import { setTimeout as pause } from 'node:timers/promises';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AuditListSchema, AuditService } from '../../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import { connected } from './connection/connect.js';
import type { Connection } from './connection/connection.js';
import type { ConnectionFlags } from './connection/profile.js';
import { isForLater } from './connection/refusal.js';
import { jsonOfMessage, print } from './output/documents.js';
import { cell, coloured, oneLine, timeCell } from './output/text.js';

/** The flags of `audit`. */
export type AuditFlags = ConnectionFlags & {
  readonly project?: string;
  readonly domain?: string;
  readonly actor?: string;
  /** In milliseconds since 1970; by default 24 hours ago. */
  readonly since?: number;
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

const DAY_MS = 86_400_000;

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
 * Prints the entries of the audit trail, one a line; with `follow` until Ctrl-C, also while the server restarts, or is
 * overloaded or slow.
 *
 * @throws {Unreachable} when the server cannot be reached; with `follow`, only at the start.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const audit = (flags: AuditFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { since = Date.now() - DAY_MS } = flags;
    for (let after = 0n, hasBegun = false; ; hasBegun = true) {
      const entries = await pageAfter(connection, { after, since }, flags).catch((error: unknown) => {
        if (!flags.follow || !hasBegun || !isForLater(error)) throw error;
        return [];
      });
      for (const entry of entries) print(flags.json ? JSON.stringify(entry) : lineOf(entry));
      after = BigInt(entries.at(-1)?.id ?? after);
      if (entries.length === 0 && !flags.follow) return;
      if (entries.length === 0) await pause(POLL_MS);
    }
  });
