import { setTimeout as pause } from 'node:timers/promises';
import { cell, coloured, oneLine } from './lines.js';
import { get, type ServerFlags } from './server-client.js';

/** The flags of `audit`. */
export type AuditFlags = Pick<ServerFlags, 'server' | 'tokenFile'> & {
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

/** The time of `--since`: so long ago, or the time that is given. */
const timeOf = (since: string, now: number): string => {
  const [, count, unit = ''] = /^(\d+)([smhd])$/u.exec(since) ?? [];
  return count === undefined ? since : new Date(now - Number(count) * (UNITS[unit] ?? 0)).toISOString();
};

const targetOf = ({ project, domain, name }: ShownEntry): string =>
  [project, domain, name].filter((part) => part !== '').join('/');

const timesOf = ({ count }: ShownEntry): string => (Number(count) > 1 ? `${count} times` : '');

const lineOf = (entry: ShownEntry): string =>
  [
    coloured(entry.at, 'grey'),
    cell(entry.principal || entry.clientId || '-', 16),
    cell(entry.code || entry.kind, 17, entry.code === 'OK' ? 'green' : 'red'),
    cell(entry.action || '-', 30),
    oneLine(`${targetOf(entry)} ${timesOf(entry)} ${entry.reason}`),
    coloured([entry.transport, entry.address].join(' ').trim(), 'grey'),
  ]
    .join('  ')
    .trimEnd();

const pageAfter = async (after: string, flags: AuditFlags, since: string): Promise<readonly ShownEntry[]> => {
  const { server, tokenFile, project, domain, actor } = flags;
  const asked = { server, ...(tokenFile !== undefined && { tokenFile }), project: '', domain: '' };
  const response = await get(asked, '/api/v1/audit', { project, domain, actor, since, after });
  return ((await response.json()) as { readonly entries: readonly ShownEntry[] }).entries;
};

/**
 * Prints the entries of the audit, one a line; with `follow` until Ctrl-C.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const audit = async (flags: AuditFlags): Promise<void> => {
  const since = timeOf(flags.since, Date.now());
  process.stdout.on('error', () => process.exit(0));
  for (let after = '0'; ;) {
    const entries = await pageAfter(after, flags, since);
    for (const entry of entries) process.stdout.write(`${flags.json ? JSON.stringify(entry) : lineOf(entry)}\n`);
    after = String(entries.at(-1)?.id ?? after);
    if (entries.length === 0 && !flags.follow) return;
    if (entries.length === 0) await pause(POLL_MS);
  }
};
