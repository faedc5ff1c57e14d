import type { AuditEntry } from '../kernel/ports/audit-trail.js';

/** The most entries of one batch that are not refusals. */
export const MAX_ENTRIES = 10_000;
/**
 * The most different refusals of one batch; equal ones are counted together. They are fewer, because any client that
 * reaches the server can cause refusals.
 */
export const MAX_REFUSALS = 100;

const REFUSALS: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED']);

/** True for an entry about a failed authentication, a denied permission, or a limit that was exceeded. */
const isRefusal = ({ code }: Pick<AuditEntry, 'code'>): boolean => REFUSALS.has(code);

/** The key of refusals that are counted together: they differ only in time and request id. */
const keyOf = (entry: AuditEntry): string => {
  const { kind, principal, issuer, clientId, transport, address, action, project, domain, name, code, reason } = entry;
  return JSON.stringify([
    ...[kind, principal, issuer, clientId, transport, address],
    ...[action, project, domain, name, code, reason],
  ]);
};

/** Equal refusals as one entry, which has the request id of the first that was added. */
const together = (known: AuditEntry, added: AuditEntry): AuditEntry => ({
  ...known,
  atMs: Math.min(known.atMs, added.atMs),
  lastAtMs: Math.max(known.lastAtMs, added.lastAtMs),
  count: known.count + added.count,
});

/** Entries that are stored together. */
export type AuditBatch = {
  /** Adds an entry, or adds it to the count of an equal refusal; counts it as dropped when the batch is full. */
  add(entry: AuditEntry): void;
  /** The entries in the order of their times (the first, where several are joined), and the number of dropped ones. */
  taken(): { readonly entries: readonly AuditEntry[]; readonly dropped: number };
  isEmpty(): boolean;
};

export const auditBatch = (): AuditBatch => {
  const writes: AuditEntry[] = [];
  const refusals = new Map<string, AuditEntry>();
  let dropped = 0;

  const addRefusal = (entry: AuditEntry): void => {
    const key = keyOf(entry);
    const known = refusals.get(key);
    if (known) refusals.set(key, together(known, entry));
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
