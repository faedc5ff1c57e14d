import type { MessageInitShape } from '@bufbuild/protobuf';

import {
  type AuditEntry,
  type AuditListRequestSchema,
  AuditService,
} from '../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import { call } from './call.js';

/** The pause before entries are asked for again, after an empty page or a request that failed. */
const PAUSE_MS = 3_000;

/** The conditions for the entries to read. */
export type AuditFilter = Omit<MessageInitShape<typeof AuditListRequestSchema>, 'after' | 'limit' | '$typeName'>;

/** The callbacks of a follower of the audit. */
type AuditListener = {
  /** Gets each page, which may be empty. */
  readonly entries: (entries: readonly AuditEntry[]) => void;
  /** Gets the error of each request that fails, except by an abort. */
  readonly failed: (error: unknown) => void;
};

/** Resolves after the pause, or when the signal aborts it. */
const pause = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, PAUSE_MS);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });

/** Reads all entries, page by page, and then those that are added, until it is aborted. */
export const followAudit = async (
  filter: AuditFilter,
  { entries, failed }: AuditListener,
  signal: AbortSignal,
): Promise<void> => {
  let after = 0n;
  while (!signal.aborted) {
    const page = await call(AuditService.method.list, { ...filter, after }, signal).catch((error: unknown) => {
      if (!signal.aborted) failed(error);
      return undefined;
    });
    if (page) entries(page.entries);
    after = page?.entries.at(-1)?.id ?? after;
    if (!page || page.entries.length === 0) await pause(signal);
  }
};

/** Reads all entries that match a filter, in the order in which they were stored. */
export const readAudit = async (filter: AuditFilter): Promise<readonly AuditEntry[]> => {
  const all: AuditEntry[] = [];
  for (let after = 0n; ; after = all.at(-1)?.id ?? after) {
    const { entries } = await call(AuditService.method.list, { ...filter, after });
    if (entries.length === 0) return all;
    all.push(...entries);
  }
};
