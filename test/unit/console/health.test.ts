import { afterEach, expect, it, vi } from 'vitest';

import { ServerUnreachable } from '../../../console/server/failure.js';

afterEach(() => vi.unstubAllGlobals());

it('metrics and readiness that a server which is down does not answer are asked for again', async () => {
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/console/' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')));
  const { metricsQuery, readinessQuery } = await import('../../../console/server/health.js');
  const { RETRIED } = await import('../../../console/server/queries.js');
  for (const { queryFn } of [metricsQuery, readinessQuery]) {
    const read = queryFn as (context: { readonly signal: AbortSignal }) => Promise<unknown>;
    const error: unknown = await read({ signal: new AbortController().signal }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ServerUnreachable);
    expect(RETRIED.retry(100, error)).toBe(true); // after 100 failures, too
  }
});

it('readiness that a proxy answers with a page, because the server is down, is asked for again', async () => {
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/console/' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>', { status: 503 })));
  const { readinessQuery } = await import('../../../console/server/health.js');
  const read = readinessQuery.queryFn as (context: { readonly signal: AbortSignal }) => Promise<unknown>;
  await expect(read({ signal: new AbortController().signal })).rejects.toBeInstanceOf(ServerUnreachable);
});

it('readiness that a proxy does not forward is not asked for again', async () => {
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/console/' });
  vi.stubGlobal('window', { addEventListener: () => undefined });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>', { status: 404 })));
  const { readinessQuery } = await import('../../../console/server/health.js');
  const read = readinessQuery.queryFn as (context: { readonly signal: AbortSignal }) => Promise<unknown>;
  const { RETRIED } = await import('../../../console/server/queries.js');
  const error: unknown = await read({ signal: new AbortController().signal }).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(SyntaxError);
  expect(RETRIED.retry(0, error)).toBe(false);
});
