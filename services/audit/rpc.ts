import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type AuditListRequest,
  AuditEntrySchema,
  AuditListSchema,
  AuditService,
} from '../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import type { AuditTrail, StoredAuditEntry } from '../kernel/ports/audit-trail.js';
import { invalid, route, type Route } from '../kernel/rpc.js';

const MAX_LIMIT = 1_000;
/** The largest id that a store can have and compare. */
const MAX_ID = 2n ** 63n - 1n;

const limitOf = ({ limit }: AuditListRequest): number => {
  if (limit > MAX_LIMIT) throw invalid('limit', `${limit} is above ${MAX_LIMIT}`);
  return limit || MAX_LIMIT;
};

const messageOf = ({ atMs, lastAtMs, count, position, ...same }: StoredAuditEntry) =>
  create(AuditEntrySchema, {
    ...same,
    at: timestampFromMs(atMs),
    lastAt: timestampFromMs(lastAtMs),
    count: BigInt(count),
    position: position ?? 0n,
  });

/** The route of the audit. Without a trail (no authentication) the list is empty. */
export const auditRoutes = (trail: AuditTrail | undefined): readonly Route[] => [
  route(AuditService.method.list, async (request) => {
    const { project, domain, actor, since } = request;
    const sinceMs = since ? timestampMs(since) : 0;
    const after = request.after > MAX_ID ? MAX_ID : request.after;
    const entries = await trail?.list({ project, domain, actor, sinceMs, after, limit: limitOf(request) });
    return create(AuditListSchema, { entries: (entries ?? []).map(messageOf) });
  }),
];
