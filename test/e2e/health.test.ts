import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { StreamName } from '../../services/kernel/stream.js';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { until } from '../support/until.js';
import { type Readiness, readiness, untilCheck } from '../support/processes/health.js';
import { type RoleProcesses, startRoleProcesses } from '../support/processes/roles.js';

const LIMIT_MS = 120_000;

let processes: RoleProcesses;

const http = (name: string): string => processes.process(name).server().ready.http;
const states = ({ checks }: Readiness): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, check?.state]));

beforeAll(async () => {
  processes = await startRoleProcesses(['api', 'projector', 'reactor']);
}, LIMIT_MS);
afterAll(() => processes.close(), LIMIT_MS);

describe('health checks of a control plane of many processes', () => {
  it.each([
    ['api-1', { log: 'well', data: 'well', 'read-store': 'well', views: 'well', parked: 'well' }],
    ['projector-1', { views: 'well', data: 'well', parked: 'well' }],
    ['reactor-1', { log: 'well', data: 'well', parked: 'well' }],
  ])('name the dependencies of %s', async (name, expected) => {
    const [check = ''] = Object.keys(expected);
    const body = await untilCheck(http(name), check, 'well');
    expect([body.ready, states(body)]).toEqual([true, expected]);
  });

  it.each([
    ['api-1', ['flightlog_log_head_position', 'flightlog_view_lag_seconds', 'flightlog_sessions']],
    ['projector-1', ['flightlog_log_head_position', 'flightlog_view_lag_seconds', 'flightlog_parked_streams']],
    ['reactor-1', ['flightlog_log_head_position', 'flightlog_check_state', 'flightlog_session_cache_bytes']],
    ['log', ['flightlog_log_head_position', 'flightlog_append_duration_seconds', 'flightlog_log_batch_appends']],
  ])('have a /metrics endpoint beside them, with metrics of %s', async (name, expected) => {
    const answer = await fetch(`${name === 'log' ? processes.log.http() : http(name)}/metrics`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    const lines = (await answer.text()).split('\n').filter((line) => !line.startsWith('#'));
    for (const metric of [...expected, 'flightlog_build_info', 'flightlog_threads', 'nodejs_eventloop_lag_p99_seconds'])
      expect(
        lines.some((line) => line.startsWith(metric)),
        metric,
      ).toBe(true);
  });

  it('name the log and data directory of a log server', async () => {
    const body = await untilCheck(processes.log.http(), 'log', 'well');
    expect([body.ready, states(body)]).toEqual([true, { log: 'well', data: 'well' }]);
    expect((await fetch(`${processes.log.http()}/healthz`)).status).toBe(200);
  });

  it.each([
    ['api-1', 'log'],
    ['projector-1', 'views'],
    ['reactor-1', 'log'],
  ])(
    'say that %s is alive but not ready while the log cannot be reached, and is ready afterwards',
    async (name, check) => {
      await processes.log.kill();
      const body = await untilCheck(http(name), check, 'down');
      expect(body.ready).toBe(false);
      expect(body.checks[check]?.why).toMatch(/log|event store/u);
      expect((await fetch(`${http(name)}/healthz`)).status).toBe(200);
      await processes.log.start();
      expect((await untilCheck(http(name), check, 'well')).ready).toBe(true);
    },
  );

  it('name a stream that the views have parked, and stay ready', async () => {
    const stream = 'execution-flytesnacks:development:newer';
    const log = await eventstoreEventStore({ url: `esdb://${processes.log.address}?tls=false` });
    const metadata = JSON.stringify({ recordedAtMs: 1, actor: '', commandId: '', schema: 1 });
    const event = { id: randomBytes(16), type: 'OfANewerRelease', data: new Uint8Array(), metadata };
    await log.append(stream as StreamName, 'any', [event]);
    await log.close();
    for (const name of ['api-1', 'projector-1']) {
      await untilCheck(http(name), 'parked', 'degraded');
      // The log was away in the test before: a process may still be connecting to it.
      const body = await until(
        () => readiness(http(name)),
        ({ ready }) => ready,
      );
      expect(body.checks['parked']?.why).toContain('the views have parked: 1');
    }
    expect((await readiness(http('api-1'))).checks['parked']?.why).toContain(stream);
  });

  it('end with the process, which answers no more calls', async () => {
    const projector = processes.process('projector-1');
    expect((await readiness(http('projector-1'))).ready).toBe(true);
    expect(await projector.stop()).toBe(0);
    await expect(fetch(`${http('projector-1')}/readyz`)).rejects.toThrow();
    await projector.start();
  });
});
