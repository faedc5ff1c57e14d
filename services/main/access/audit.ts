import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { auditTrail } from '../../audit/trail.js';
import { forSetting } from '../../config/operator-errors.js';
import type { Configuration } from '../../config/configuration.js';
import type { AuditQuery, AuditStore, AuditTrail } from '../../kernel/ports/audit-trail.js';
import type { ProcessMetrics } from '../../metrics/process-metrics.js';
import { sqliteAuditStore } from '../../store/audit/sqlite-audit-store.js';
import { type ReadStoreSource, viewsKey } from '../views/read-stores.js';

const ONE: AuditQuery = { project: '', domain: '', actor: '', sinceMs: 0, after: 0n, limit: 1 };

/**
 * Opens the audit entries where the views are: in the database, or in the data directory.
 *
 * @throws {OperatorError} when the database cannot be reached or used, naming the setting.
 * @throws {StoreUnavailable} when the file in the data directory cannot be read, naming the file.
 */
export const openAuditStore = async ({ directory, views }: ReadStoreSource): Promise<AuditStore> => {
  if (views.kind === 'sqlite') {
    const store = sqliteAuditStore(directory);
    await store.list(ONE); // a file that cannot be used fails here, at the start, and not at every entry
    return store;
  }
  const { mongoAuditStore } = await import('../../../projections/store/mongo/mongo-audit-store.js');
  return forSetting(viewsKey(views), () => mongoAuditStore(views));
};

/** Opens the audit of a process; `undefined` without authentication, where callers have no names. */
export const openAudit = async (
  { insecure, auth, read_store: views }: Pick<Configuration, 'insecure' | 'auth' | 'read_store'>,
  {
    directory,
    metrics,
    logger,
  }: { readonly directory: string; readonly metrics: ProcessMetrics; readonly logger: Logger },
): Promise<AuditTrail | undefined> =>
  insecure
    ? undefined
    : auditTrail({
        store: await openAuditStore({ directory, views }),
        retentionMs: auth.audit_retention,
        now: Date.now,
        newKey: randomUUID,
        onDropped: metrics.auditDropped,
        onError: (error) => logger.error({ err: error }, 'audit entries could not be stored'),
      });
