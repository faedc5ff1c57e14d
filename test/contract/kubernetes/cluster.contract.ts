import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, ClusterUnavailable, type ExecutionObject } from '../../../engine/bridge/cluster/cluster.js';
import { kubernetesCluster } from '../../../engine/bridge/cluster/kubernetes.js';
import { FINALIZER } from '../../../engine/bridge/object/metadata.js';
import { type WorkflowObject, workflowObject } from '../../../engine/bridge/object/workflow-object.js';
import {
  apply,
  ask,
  BRIDGE_TOKEN,
  kubeConfigOf,
  type KubernetesServer,
  manifests,
  namespace,
  objectPath,
} from '../../support/kubernetes/server.js';
import { until } from '../../support/until.js';
import { fixtureLaunch, objectOptions } from '../../unit/engine/bridge/launches.js';

export const NAMESPACE = 'flytesnacks-development';

/** Prepares a server for a bridge: creates namespaces, the definition of the objects, and the rights of the bridge. */
export const prepare = async <Server extends KubernetesServer>(server: Server): Promise<Server> => {
  await apply(server, [
    namespace('flightlog'),
    namespace(NAMESPACE),
    ...manifests('custom-resource-definition.yaml'),
    ...manifests('rbac.yaml'),
  ]);
  // A real server serves a definition, and grants rights, a moment after it has stored them.
  await until(
    () => ask({ url: server.url, token: BRIDGE_TOKEN }, 'GET', objectPath(NAMESPACE)),
    ({ status }) => status === 200,
  );
  return server;
};

/** The cluster as a bridge sees it. */
export const clusterOf = ({ url }: KubernetesServer, callTimeoutMs = 10_000): Cluster =>
  kubernetesCluster({
    name: 'one',
    madeBy: 'east',
    kubeConfig: kubeConfigOf(url, BRIDGE_TOKEN),
    callTimeoutMs,
    watch: { watchSeconds: 1, answerTimeoutMs: callTimeoutMs },
    onFailure: () => undefined,
  });

/** An object with a name that no other test uses. */
export const newObject = (madeBy = 'east'): WorkflowObject => {
  const launch = fixtureLaunch('01-hello');
  const id = { ...launch.id, name: `a${randomUUID().slice(0, 12)}` };
  return workflowObject({ ...launch, id }, { ...objectOptions, madeBy });
};

/** Follows a cluster: `seen` are the reported objects in their order, `times` counts those of a name. */
export const following = (cluster: Cluster) => {
  const seen: ExecutionObject[] = [];
  const stop = new AbortController();
  const ended = cluster.follow((object) => seen.push(object), stop.signal);
  return {
    times: (name: string) => Promise.resolve(seen.filter((each) => each.name === name).length),
    seen,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
};

/** Everything that a bridge needs of a cluster, on a server that may be killed. */
export const clusterContract = (name: string, open: () => Promise<KubernetesServer>): void => {
  describe(`a cluster behind ${name}`, () => {
    let server: KubernetesServer;
    let cluster: Cluster;
    beforeAll(async () => {
      server = await prepare(await open());
      cluster = clusterOf(server);
    });
    afterAll(() => server.close());

    it('stores an object with all that the engine reads', async () => {
      const object = newObject();
      expect(await cluster.create(object)).toBe('created');
      const { body } = await ask(server, 'GET', objectPath(NAMESPACE, object.metadata.name));
      expect({ ...body, metadata: undefined }).toEqual({ ...object, metadata: undefined });
      expect(body.metadata).toMatchObject(object.metadata);
    });

    it('holds one object of a name, and finds it with its project, domain and launch', async () => {
      const object = newObject();
      expect(await cluster.find(object.metadata)).toBeUndefined();
      await cluster.create(object);
      expect(await cluster.create(object)).toBe('exists');
      expect(await cluster.find(object.metadata)).toMatchObject({
        namespace: NAMESPACE,
        name: object.metadata.name,
        project: 'flytesnacks',
        domain: 'development',
        launchId: '2026-03-02T09:58:16Z',
        finalizers: [FINALIZER],
        deletedAtMs: undefined,
      });
    });

    it('holds a deleted object until its finalizer is removed, and ignores a second deletion and removal', async () => {
      const object = newObject();
      const { metadata } = object;
      await cluster.create(object);
      await cluster.delete((await cluster.find(metadata))!);
      const deleting = await cluster.find(metadata);
      expect(deleting?.deletedAtMs).toBeTypeOf('number');
      await cluster.delete(deleting!);
      await cluster.removeFinalizer(deleting!);
      expect(await cluster.find(metadata)).toBeUndefined();
      await cluster.delete(deleting!);
      await cluster.removeFinalizer(deleting!);
    });

    it('does not delete another object that has the same name by now', async () => {
      const object = newObject();
      await cluster.create(object);
      const first = (await cluster.find(object.metadata))!;
      await cluster.delete(first);
      await cluster.removeFinalizer((await cluster.find(object.metadata))!);
      await cluster.create(object);
      await cluster.delete(first);
      expect((await cluster.find(object.metadata))?.deletedAtMs).toBeUndefined();
    });

    it('keeps the finalizer when the object has changed since it was read', async () => {
      const object = newObject();
      await cluster.create(object);
      const before = (await cluster.find(object.metadata))!;
      const path = objectPath(NAMESPACE, object.metadata.name);
      await ask(server, 'PATCH', path, { status: { phase: 1 } });
      await cluster.removeFinalizer(before);
      expect((await cluster.find(object.metadata))?.finalizers).toEqual([FINALIZER]);
    });

    it('reports the objects of this bridge: existing, changed and deleted ones', async () => {
      const [object, foreign] = [newObject(), newObject('west')];
      const { name: own } = object.metadata;
      await cluster.create(foreign);
      await cluster.create(object);
      const { times, seen, stop } = following(cluster);
      await until(
        () => times(own),
        (count) => count === 1,
      );
      await cluster.delete((await cluster.find(object.metadata))!);
      await until(
        () => times(own),
        (count) => count === 2,
      );
      await cluster.removeFinalizer((await cluster.find(object.metadata))!);
      await until(
        () => times(own),
        (count) => count === 3,
      );
      expect(seen.map(({ name: each }) => each)).not.toContain(foreign.metadata.name);
      await stop();
    });

    it('is unavailable while the namespace does not exist', async () => {
      const object = newObject();
      const elsewhere = { ...object, metadata: { ...object.metadata, namespace: 'no-such' } } as WorkflowObject;
      await expect(cluster.create(elsewhere)).rejects.toThrow(ClusterUnavailable);
    });

    it('does not let the bridge list secrets, pods, deployments and namespaces', async () => {
      const paths = ['/api/v1/secrets', '/api/v1/pods', '/apis/apps/v1/deployments', '/api/v1/namespaces'];
      for (const path of paths) {
        const { status } = await ask({ url: server.url, token: BRIDGE_TOKEN }, 'GET', path);
        expect([path, status]).toEqual([path, 403]);
      }
    });

    it('is unavailable while it is killed, and reports changes again after its next start', async () => {
      const [existing, later] = [newObject(), newObject()];
      await cluster.create(existing);
      const { times, stop } = following(cluster);
      await until(
        () => times(existing.metadata.name),
        (count) => count > 0,
      );
      await server.kill();
      await expect(cluster.create(later)).rejects.toThrow(ClusterUnavailable);
      await server.start();
      await until(
        () => cluster.create(later).catch(() => 'away'),
        (answer) => answer !== 'away',
      );
      await until(
        () => times(later.metadata.name),
        (count) => count > 0,
      );
      await stop();
    });
  });
};
