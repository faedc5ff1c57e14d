import type { FastifyRequest } from 'fastify';

import type { Identity } from '../../kernel/ports/authentication.js';
import { RpcError } from '../../kernel/rpc.js';
import { addressOf, type Audit } from '../dispatch/audit.js';
import { headerOf } from './request.js';

/** The longest text of a request that is recorded, in characters. */
const MAX_TEXT = 256;

/**
 * Records for auditors that a request which reaches no RPC was refused. Errors that are no refusals are left out, and so is
 * UNAVAILABLE: the issuer of the token could not be asked.
 */
export const recordRefusal = (
  audit: Audit | undefined,
  request: FastifyRequest,
  thrown: unknown,
  caller?: Identity,
): void => {
  if (!audit || !(thrown instanceof RpcError) || thrown.code === 'UNAVAILABLE') return;
  const now = Date.now();
  const from = {
    header: (name: string) => headerOf(request, name),
    peer: () => request.raw.socket.remoteAddress ?? '',
  };
  const { principal = '', issuer = '', clientId = '' } = caller ?? {};
  audit.trail.record({
    ...{ kind: 'call', atMs: now, lastAtMs: now, count: 1, code: thrown.code, reason: thrown.message },
    ...{ principal, issuer, clientId, transport: 'rest', address: addressOf(from, audit.isBehindProxy) },
    ...{ action: (request.originalUrl.split('?', 1)[0] ?? '').slice(0, MAX_TEXT), project: '', domain: '', name: '' },
    ...{ requestId: (headerOf(request, 'x-request-id') ?? '').slice(0, MAX_TEXT), position: undefined },
  });
};
