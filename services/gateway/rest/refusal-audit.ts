import type { FastifyRequest } from 'fastify';

import type { Identity } from '../../kernel/ports/authentication.js';
import { RpcError } from '../../kernel/rpc.js';
import { addressOf, type Audit, isRefusal, recordedText } from '../dispatch/audit.js';
import { headerOf } from './request.js';

/**
 * Records for auditors that a request which reaches no RPC was refused. Errors that are no refusals are left out, such
 * as UNAVAILABLE: the issuer of the token could not be asked.
 */
export const recordRefusal = (
  audit: Audit | undefined,
  request: FastifyRequest,
  thrown: unknown,
  caller?: Identity,
): void => {
  if (!audit || !(thrown instanceof RpcError) || !isRefusal(thrown.code)) return;
  const now = Date.now();
  const from = {
    header: (name: string) => headerOf(request, name),
    peer: () => request.raw.socket.remoteAddress ?? '',
  };
  const { principal = '', issuer = '', clientId = '' } = caller ?? {};
  audit.trail.record({
    ...{ kind: 'call', atMs: now, lastAtMs: now, count: 1, code: thrown.code, reason: thrown.message },
    ...{ principal, issuer, clientId, transport: 'rest', address: addressOf(from, audit.isBehindProxy) },
    ...{ action: recordedText(request.originalUrl.split('?', 1)[0] ?? ''), project: '', domain: '', name: '' },
    ...{ requestId: recordedText(headerOf(request, 'x-request-id') ?? ''), position: undefined },
  });
};
