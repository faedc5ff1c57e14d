import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ClusterUnavailable } from '../../../../engine/bridge/cluster/cluster.js';
import { connectedCluster } from '../../../../engine/bridge/cluster/connected-cluster.js';

/** The address of a server that does not run. */
const SERVER = 'https://127.0.0.1:1';
/** The object that is asked for; the cluster is never reached. */
const KEY = { namespace: 'flytesnacks-development', name: 'e' };

describe('a credential command of a kubeconfig', () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'flightlog-kubeconfig-'))));
  afterEach(() => rmSync(directory, { recursive: true }));

  const clusterWith = (script: string, callTimeoutMs: number) => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', script] };
    const kubeconfig = join(directory, 'kubeconfig');
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: SERVER } }],
        users: [{ name: 'u', user: { exec } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    );
    const options = { name: 'c', madeBy: 'bridge', callTimeoutMs, onFailure: () => undefined };
    return connectedCluster({ kubeconfig, context: '' }, options);
  };

  it('that does not end is killed, and the error that the cluster is unavailable names it', async () => {
    const found = clusterWith('setInterval(() => undefined, 1_000)', 200).find(KEY);
    await expect(found).rejects.toThrow(ClusterUnavailable);
    await expect(found).rejects.toThrow(
      `the credential command ${process.execPath} has not ended within 0.2 s and was killed`,
    );
  });

  it('that ends in time lets the call reach the address of the server', async () => {
    const credential = JSON.stringify({ kind: 'ExecCredential', status: { token: 't' } });
    const found = clusterWith(`console.log(${JSON.stringify(credential)})`, 20_000).find(KEY);
    await expect(found).rejects.toThrow('ECONNREFUSED');
  });
});
