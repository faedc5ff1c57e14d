import { useQuery } from '@tanstack/react-query';

import { AccessService } from '../../proto/gen/platformidl/eventlog/access_service_pb.js';
import type { Scope } from './ids.js';
import { rpcQuery } from './queries.js';

/** A permission that actions or figures of the console need. */
export type Permission = 'register' | 'execute' | 'admin';

/**
 * For this time a view that opens takes the answer from memory: an action that is shown by mistake is refused by the
 * server.
 */
const FRESH_MS = 30_000;

/**
 * True when the person has the permission in a project and domain, so that pages can leave out what the server would
 * refuse. False until the server has answered.
 */
export const useMay = (permission: Permission, { project, domain }: Scope): boolean => {
  const query = rpcQuery(AccessService.method.listOwnPermissions, { project, domain });
  const { data } = useQuery({ ...query, staleTime: FRESH_MS });
  return data?.permissions.includes(permission) ?? false;
};
