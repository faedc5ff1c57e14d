import type { AuditEntry } from '../kernel/ports/audit-trail.js';

/** The most entries of one batch. Refusals are limited more, because every client that reaches the server makes them. */
export const MAX_ENTRIES = 10_000;
export const MAX_REFUSALS = 100;

const REFUSALS: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED']);

/** True for an entry that says that a caller was not let in or not allowed something. */
const isRefusal = ({ code }: Pick<AuditEntry, 'code'>): boolean => REFUSALS.has(code);

/** Refusals that differ in time and request id alone are counted together. */
const keyOf = (entry: AuditEntry): string => {
  const { kind, principal, issuer, clientId, transport, address, action, project, domain, name, code, reason } = entry;
  return JSON.stringify([
    ...[kind, principal, issuer, clientId, transport, address],
    ...[action, project, domain, name, code, reason],
  ]);
};

/** Entries that are to be stored together. */
export type AuditBatch = {
  /** Adds an entry, or counts it with one that is alike; counts it as dropped when the batch is full. */
  add(entry: AuditEntry): void;
  /** The entries in the order in which they were added, and the number of those that found no place. */
  taken(): { readonly entries: readonly AuditEntry[]; readonly dropped: number };
  isEmpty(): boolean;
};

/** Opens an empty batch. */
export const auditBatch = (): AuditBatch => {
  const writes: AuditEntry[] = [];
  const refusals = new Map<string, AuditEntry>();
  let dropped = 0;

  const addRefusal = (entry: AuditEntry): void => {
    const key = keyOf(entry);
    const known = refusals.get(key);
    if (known) refusals.set(key, { ...known, lastAtMs: entry.lastAtMs, count: known.count + entry.count });
    else if (refusals.size < MAX_REFUSALS) refusals.set(key, entry);
    else dropped += entry.count;
  };

  return {
    add: (entry) => {
      if (isRefusal(entry)) addRefusal(entry);
      else if (writes.length < MAX_ENTRIES) writes.push(entry);
      else dropped += entry.count;
    },
    taken: () => ({
      entries: [...writes, ...refusals.values()].sort((a, b) => a.atMs - b.atMs),
      dropped,
    }),
    isEmpty: () => writes.length === 0 && refusals.size === 0 && dropped === 0,
  };
};
