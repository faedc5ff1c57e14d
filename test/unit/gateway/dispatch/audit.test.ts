import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionTerminateRequestSchema } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { auditCalls } from '../../../../services/gateway/dispatch/audit.js';
import { UNLIMITED } from '../../../../services/kernel/access.js';
import type { AuditEntry } from '../../../../services/kernel/ports/audit-trail.js';
import { RpcError } from '../../../../services/kernel/rpc.js';
import { callOf } from './calls.js';

const id = { project: 'atlas', domain: 'staging', name: 'a1' };
const request = create(ExecutionTerminateRequestSchema, { id, cause: 'MARKED' });
const identity = { principal: 'ada', issuer: 'https://issuer.test', clientId: 'cli', scopes: [], claims: {} };

const { terminateExecution, getExecution, createNodeEvent } = AdminService.method;

/** The entries of one call. */
const entriesOf = async (
  method: Parameters<typeof callOf>[0],
  thrown?: Error,
  { headers = {}, isBehindProxy = false }: { headers?: Record<string, string>; isBehindProxy?: boolean } = {},
): Promise<readonly AuditEntry[]> => {
  const entries: AuditEntry[] = [];
  const call = callOf(method, { headers: { 'x-request-id': 'r-1', ...headers }, peer: () => '10.0.0.1' });
  const interceptor = auditCalls({ trail: { record: (entry) => void entries.push(entry) }, isBehindProxy });
  const answered = interceptor(call, () => {
    call.principal = 'ada';
    call.caller = { identity: { ...identity, expiresAt: undefined }, access: UNLIMITED };
    call.request = request;
    if (thrown) return Promise.reject(thrown);
    call.answeredAt(42n);
    return Promise.resolve({ length: 0 });
  });
  await answered.catch(() => undefined);
  await Promise.resolve();
  return entries;
};

describe('the audit of a call', () => {
  it('has the caller, the target, the result and the position of a change', async () => {
    const [entry, ...more] = await entriesOf(terminateExecution);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      ...{ kind: 'call', count: 1, principal: 'ada', issuer: 'https://issuer.test', clientId: 'cli' },
      ...{ transport: 'grpc', address: '10.0.0.1', action: 'AdminService.TerminateExecution', ...id },
      ...{ code: 'OK', reason: '', requestId: 'r-1', position: 42n },
    });
  });

  it('has a change that was refused, without the message of the error, which may quote the request', async () => {
    const thrown = new RpcError('INVALID_ARGUMENT', 'invalid value for cause: MARKED');
    expect(await entriesOf(terminateExecution, thrown)).toMatchObject([{ code: 'INVALID_ARGUMENT', reason: '' }]);
  });

  it('has no entry for a permitted read or report of an engine', async () => {
    expect(await entriesOf(getExecution)).toEqual([]);
    expect(await entriesOf(createNodeEvent)).toEqual([]);
    expect(await entriesOf(getExecution, new RpcError('NOT_FOUND', 'no'))).toEqual([]);
  });

  it.each(['UNAUTHENTICATED', 'PERMISSION_DENIED'] as const)(
    'has every call that is refused with %s, and the reason',
    async (code) => {
      for (const method of [terminateExecution, getExecution, createNodeEvent])
        expect(await entriesOf(method, new RpcError(code, 'because'))).toMatchObject([{ code, reason: 'because' }]);
    },
  );

  it('has the address that a proxy reports only when the server is behind a proxy', async () => {
    const headers = { 'x-forwarded-for': '1.2.3.4, 5.6.7.8' };
    expect(await entriesOf(terminateExecution, undefined, { headers })).toMatchObject([{ address: '10.0.0.1' }]);
    const behind = { headers, isBehindProxy: true };
    expect(await entriesOf(terminateExecution, undefined, behind)).toMatchObject([{ address: '5.6.7.8' }]);
  });

  it('has at most 256 characters of a reason, which names the project of the request', async () => {
    const thrown = new RpcError('PERMISSION_DENIED', `missing permission read in project ${'p'.repeat(1_000)}`);
    const [entry] = await entriesOf(getExecution, thrown);
    expect(entry?.reason).toHaveLength(256);
  });

  it('has at most 256 characters of a request id', async () => {
    const [entry] = await entriesOf(terminateExecution, undefined, { headers: { 'x-request-id': 'x'.repeat(1_000) } });
    expect(entry?.requestId).toHaveLength(256);
  });
});
