import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NAMESPACE, prepare } from '../contract/kubernetes/cluster.contract.js';
import { flightlog, type Running } from '../support/command.js';
import { ask, BRIDGE_TOKEN, kubeConfigOf, objectPath } from '../support/kubernetes/server.js';
import { type StandIn, startStandIn } from '../support/kubernetes/stand-in.js';
import { startWorkServer, type WorkServer } from '../support/kubernetes/work-server.js';
import { until } from '../support/until.js';
import { fixtureLaunch } from '../unit/engine/bridge/launches.js';

const hello = fixtureLaunch('01-hello');
const folder = mkdtempSync(join(tmpdir(), 'flightlog-bridge-'));

/** Starts the program as an operator does, with a file of settings and a kubeconfig. */
const startBridge = (server: StandIn, work: WorkServer): Running => {
  writeFileSync(join(folder, 'kubeconfig'), kubeConfigOf(server.url, BRIDGE_TOKEN).exportConfig());
  const clusters = [{ name: 'one', kubeconfig: join(folder, 'kubeconfig') }];
  writeFileSync(join(folder, 'flightlog.json'), JSON.stringify({ bridge: { clusters, keep_finished: '0s' } }));
  return flightlog(['bridge', '--config', join(folder, 'flightlog.json'), '--endpoint', work.endpoint]);
};

describe('flightlog bridge', () => {
  let server: StandIn;
  let work: WorkServer;
  beforeAll(async () => {
    server = await prepare(await startStandIn());
    work = await startWorkServer();
  });
  afterAll(async () => {
    work.close();
    await server.close();
    rmSync(folder, { recursive: true });
  });

  const count = (kind: string, wanted: number) =>
    until(
      () => Promise.resolve(work.received.filter((each) => each.case === kind).length),
      (found) => found >= wanted,
    );

  it('runs launches over its own kill, and ends at a stop signal', async () => {
    const first = startBridge(server, work);
    await count('join', 1);
    work.launch('a1', hello);
    await count('accept', 1);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = startBridge(server, work);
    await count('join', 2);
    work.launch('a1', hello, { lease: 2n, isStarted: true });
    await count('accept', 2);
    const path = objectPath(NAMESPACE, 'a1');
    await ask(server, 'PATCH', path, { metadata: { finalizers: [] } });
    work.ended('a1', 2n);
    await until(
      () => ask(server, 'GET', path),
      ({ status }) => status === 404,
    );
    expect(server.requests.filter((each) => each.startsWith('POST') && each.includes('flyteworkflows'))).toHaveLength(
      1,
    );
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
  });

  it('says which cluster it cannot use', async () => {
    const settings = { bridge: { clusters: [{ name: 'far', kubeconfig: join(folder, 'none') }] } };
    writeFileSync(join(folder, 'wrong.json'), JSON.stringify(settings));
    const { code, stderr } = await flightlog(['bridge', '--config', join(folder, 'wrong.json')]).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('bridge.clusters: far:');
  });
});
