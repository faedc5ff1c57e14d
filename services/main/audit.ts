import type { Logger } from 'pino';
import { auditTrail } from '../audit/trail.js';
import type { Configuration } from '../config/configuration.js';
import type { AuditTrail } from '../kernel/ports/audit-trail.js';
import type { ProcessMetrics } from '../metrics/process-metrics.js';
import { sqliteAuditStore } from '../store/audit/sqlite-audit-store.js';

/** Opens the audit of a process; `undefined` without authentication, where callers have no names. */
export const openAudit = (
  { insecure, auth }: Pick<Configuration, 'insecure' | 'auth'>,
  {
    directory,
    metrics,
    logger,
  }: { readonly directory: string; readonly metrics: ProcessMetrics; readonly logger: Logger },
): AuditTrail | undefined =>
  insecure
    ? undefined
    : auditTrail({
        store: sqliteAuditStore(directory),
        retentionMs: auth.audit_retention,
        now: Date.now,
        onDropped: metrics.auditDropped,
        onError: (error) => logger.error({ err: error }, 'audit entries could not be stored'),
      });
