import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';

import { kubernetesCluster } from '../../../../engine/bridge/cluster/kubernetes.js';
import { BRIDGE_TOKEN, kubeConfigOf } from '../../../support/kubernetes/server.js';

it('a watch that the server ends with an error fails with the text of this error', async () => {
  const server = createServer(({ url = '' }, response) => {
    const object = { kind: 'Status', code: 500, message: 'etcdserver: leader changed' };
    const list = { metadata: { resourceVersion: '1' }, items: [] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(url.includes('watch=true') ? { type: 'ERROR', object } : list)}\n`);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const stop = new AbortController();
  const failure = await new Promise<Error>((resolve) => {
    const cluster = kubernetesCluster({
      name: 'one',
      madeBy: 'east',
      kubeConfig: kubeConfigOf(`http://127.0.0.1:${port}`, BRIDGE_TOKEN),
      callTimeoutMs: 10_000,
      watch: { watchSeconds: 10, answerTimeoutMs: 10_000 },
      onFailure: resolve,
    });
    void cluster.follow(() => undefined, stop.signal);
  });
  stop.abort();
  expect(failure.cause).toMatchObject({ message: 'etcdserver: leader changed' });
});
