import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Cluster, ClusterUnavailable, ObjectRefused } from '../../../engine/bridge/cluster/cluster.js';
import { kubernetesCluster } from '../../../engine/bridge/cluster/kubernetes.js';
import { ADMIN_TOKEN, BRIDGE_TOKEN, kubeConfigOf, objectPath } from '../../support/kubernetes/server.js';
import { type Fault, type StandIn, startStandIn } from '../../support/kubernetes/stand-in.js';
import { until } from '../../support/until.js';
import { clusterContract, clusterOf, following, NAMESPACE, newObject, prepare } from './cluster.contract.js';

clusterContract('a stand-in for a Kubernetes API server', startStandIn);

describe('a cluster with faults', () => {
  let server: StandIn;
  let cluster: Cluster;
  beforeAll(async () => {
    server = await prepare(await startStandIn());
    cluster = clusterOf(server, 400);
  });
  afterAll(() => server.close());

  it.each<Fault>([429, 500, 503, 'stall', 'lost'])(
    'is unavailable when its answer is %s, and has the object after the next call',
    async (fault) => {
      const object = newObject();
      server.fail('create', fault, 1);
      await expect(cluster.create(object)).rejects.toThrow(ClusterUnavailable);
      expect(await cluster.create(object)).toBe(fault === 'lost' ? 'exists' : 'created');
    },
  );

  it('is unavailable with a retry delay when its answer is 429', async () => {
    server.fail('get', 429, 1);
    const found = cluster.find(newObject().metadata);
    await expect(found).rejects.toThrow(ClusterUnavailable);
    await expect(found).rejects.toMatchObject({ retryAfterMs: 1_000 });
  });

  it('fails with ObjectRefused when its answer is 422', async () => {
    server.fail('create', 422, 1);
    await expect(cluster.create(newObject())).rejects.toThrow(ObjectRefused);
  });

  it('reports objects made after its history was forgotten', async () => {
    const [first, second] = [newObject(), newObject()];
    const { times, stop } = following(cluster);
    await cluster.create(first);
    await until(
      () => times(first.metadata.name),
      (count) => count > 0,
    );
    server.expire();
    await cluster.create(second);
    await until(
      () => times(second.metadata.name),
      (count) => count > 0,
    );
    await stop();
  });

  it('reports objects that were deleted while its history was forgotten', async () => {
    const object = newObject();
    await cluster.create(object);
    const { times, stop } = following(cluster);
    await until(
      () => times(object.metadata.name),
      (count) => count === 1,
    );
    server.fail('watch', 503, 2);
    server.fail('list', 503, 1);
    server.expire();
    await cluster.delete((await cluster.find(object.metadata))!);
    await cluster.removeFinalizer((await cluster.find(object.metadata))!);
    server.expire();
    await until(
      () => times(object.metadata.name),
      (count) => count > 1,
    );
    await stop();
  });

  it('reports objects again after the command that gives its credentials has failed, and a failure when that command hangs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flightlog-credentials-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const credential = join(folder, 'credential.json');
    const status = { token: BRIDGE_TOKEN, expirationTimestamp: new Date(0).toISOString() };
    const text = JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status });
    writeFileSync(credential, text);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'cat', args: [credential] };
    const failures: Error[] = [];
    const { times, stop } = following(
      kubernetesCluster({
        name: 'one',
        madeBy: 'east',
        kubeConfig: kubeConfigOf(server.url, { exec }),
        callTimeoutMs: 400,
        watch: { watchSeconds: 1, answerTimeoutMs: 400 },
        onFailure: (error) => failures.push(error),
      }),
    );
    const [first, second] = [newObject(), newObject()];
    await cluster.create(first);
    const isReported = (count: number): boolean => count > 0;
    await until(() => times(first.metadata.name), isReported);
    rmSync(credential);
    await until(
      () => Promise.resolve(failures.length),
      (count) => count > 0,
    );
    writeFileSync(credential, text);
    await cluster.create(second);
    await until(() => times(second.metadata.name), isReported);
    // The command now waits for a writer of the pipe.
    execFileSync('mkfifo', [`${credential}.pipe`]);
    renameSync(`${credential}.pipe`, credential);
    onTestFinished(() => closeSync(openSync(credential, 'r+'))); // ends the commands
    const before = failures.length;
    await until(
      () => Promise.resolve(failures.length),
      (count) => count > before,
    );
    await stop();
  });

  it.each<Fault>(['empty', 410])(
    'gets fewer than ten requests in half a second while each watch ends at once with %s',
    async (fault) => {
      // Measures the half second: a watch that begins before the fault, and that the server ends after this time.
      const query = `watch=true&timeoutSeconds=0.5&resourceVersion=${Number.MAX_SAFE_INTEGER}`;
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const halfSecond = await fetch(`${server.url}${objectPath(NAMESPACE)}?${query}`, { headers });
      server.fail('watch', fault, 1_000);
      onTestFinished(() => server.recover());
      const before = server.requests.length;
      const { stop } = following(cluster);
      await halfSecond.text();
      const asked = await until(
        () => Promise.resolve(server.requests.length - before),
        (count) => count > 1,
      );
      await stop();
      expect(asked).toBeLessThan(10);
    },
  );

  it('reports objects after a list has stalled, and then after a watch has', async () => {
    const [listed, watched] = [newObject(), newObject()];
    server.fail('list', 'stall', 1);
    server.fail('watch', 'stall', 1);
    const { times, stop } = following(cluster);
    await cluster.create(listed);
    await until(
      () => times(listed.metadata.name),
      (count) => count > 0,
    );
    await cluster.create(watched);
    await until(
      () => times(watched.metadata.name),
      (count) => count > 0,
    );
    await stop();
  });
});
