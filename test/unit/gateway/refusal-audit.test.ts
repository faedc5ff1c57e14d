import fastify from 'fastify';
import { expect, it } from 'vitest';

import { recordRefusal } from '../../../services/gateway/rest/refusal-audit.js';
import type { AuditEntry } from '../../../services/kernel/ports/audit-trail.js';
import { RpcError } from '../../../services/kernel/rpc.js';

/** The entries about a request to a page that ends with the error. */
const entriesOf = async (thrown: Error): Promise<readonly AuditEntry[]> => {
  const entries: AuditEntry[] = [];
  const trail = { record: (entry: AuditEntry) => void entries.push(entry) };
  const app = fastify();
  app.get('/metrics', (request) => {
    recordRefusal({ trail, isBehindProxy: false }, request, thrown);
    return '';
  });
  await app.inject('/metrics?x=1');
  return entries;
};

it('a refused request to a page is recorded with its path and the reason', async () => {
  expect(await entriesOf(new RpcError('PERMISSION_DENIED', 'no'))).toMatchObject([
    { code: 'PERMISSION_DENIED', reason: 'no', action: '/metrics', transport: 'rest' },
  ]);
});

it('a request to a page is not recorded as refused while the issuer of its token is away, or after a defect', async () => {
  expect(await entriesOf(new RpcError('UNAVAILABLE', 'the issuer does not answer'))).toEqual([]);
  expect(await entriesOf(new Error('defect'))).toEqual([]);
});
