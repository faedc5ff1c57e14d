import type { FastifyRequest } from 'fastify';

import type { Identity } from '../../kernel/ports/authentication.js';
import { denied } from '../../kernel/permitted.js';
import { certificateOf } from './client-certificate.js';
import { headerOf } from './header.js';
import type { Hosting } from '../exchange.js';
import { recordRefusal } from './refusal-audit.js';

/** The requirement of a page: any valid credentials, or the permission to read every project. */
export type PageRequirement = 'authenticated' | 'read';

const EVERYWHERE = { project: '', domain: '' };

/**
 * Checks that the caller may open a web page, which is no RPC and so does not pass the dispatch. Without authentication
 * every caller may.
 *
 * @throws {RpcError} UNAUTHENTICATED without valid credentials; PERMISSION_DENIED when the caller may not open the
 * page; UNAVAILABLE when the issuer of its token cannot be reached.
 */
export const assertPageAllowed = async (
  { authentication, audit }: Pick<Hosting, 'authentication' | 'audit'>,
  request: FastifyRequest,
  required: PageRequirement,
): Promise<void> => {
  if (!authentication) return;
  let caller: Identity | undefined;
  try {
    const { identity, access } = await authentication.callerOf(
      (name) => headerOf(request, name),
      () => certificateOf(request),
    );
    caller = identity;
    if (required === 'read' && !access.may('read', '', '')) throw denied('read', EVERYWHERE);
  } catch (thrown) {
    recordRefusal(audit, request, thrown, caller);
    throw thrown;
  }
};
