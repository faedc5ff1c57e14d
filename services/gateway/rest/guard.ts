import type { FastifyRequest } from 'fastify';

import type { Authentication } from '../../kernel/ports/authentication.js';
import { denied } from '../../kernel/permitted.js';
import { headerOf } from './header.js';

/** The requirement of a page: any valid token, or the permission to read every project. */
export type PageRequirement = 'authenticated' | 'read';

const EVERYWHERE = { project: '', domain: '' };

/**
 * Checks that the caller may have a page.
 *
 * @throws {RpcError} UNAUTHENTICATED without a valid token; PERMISSION_DENIED when the caller may not have the page.
 */
export const assertPageAllowed = async (
  authentication: Authentication | undefined,
  request: FastifyRequest,
  required: PageRequirement,
): Promise<void> => {
  if (!authentication) return;
  const { access } = await authentication.callerOf((name) => headerOf(request, name));
  if (required === 'read' && !access.may('read', '', '')) throw denied('read', EVERYWHERE);
};
