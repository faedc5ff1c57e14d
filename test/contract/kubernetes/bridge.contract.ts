import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runBridge } from '../../../engine/bridge/bridge.js';
import { createClient } from '../../../engine/client.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ask, type KubernetesServer, objectPath } from '../../support/kubernetes/server.js';
import { startWorkServer, type WorkServer } from '../../support/kubernetes/work-server.js';
import { until } from '../../support/until.js';
import { fixtureLaunch, objectOptions } from '../../unit/engine/bridge/launches.js';
import { clusterOf, NAMESPACE, prepare } from './cluster.contract.js';

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined };
const hello = fixtureLaunch('01-hello');

/** A bridge on this cluster; `kill` ends it without giving its leases back. */
const startBridge = (server: KubernetesServer, work: WorkServer) => {
  const stop = new AbortController();
  const client = createClient({ endpoint: work.endpoint, concurrency: 8, signal: stop.signal });
  const ended = runBridge(
    {
      plane: { endpoint: work.endpoint },
      group: 'bridges',
      engine: 'east',
      producerId: 'propeller',
      scopes: [],
      capacity: 10,
      concurrency: 4,
      keepFinishedMs: 0,
      finalizerGraceMs: 0,
      object: objectOptions,
      clusters: [{ name: 'one', labels: [], weight: 1, cluster: clusterOf(server, 1_000) }],
    },
    { client, logger: SILENT, signal: stop.signal },
  );
  return {
    kill: async () => {
      stop.abort();
      await ended;
      client.close();
    },
  };
};

const newName = (): string => `a${randomUUID().slice(0, 12)}`;

/**
 * The behaviour of a bridge between a stream of work and one cluster, also when the bridge or the cluster is killed or
 * the stream is cut.
 *
 * @param more adds tests for one kind of server; `get` gives the server and the stream of work of the current test.
 */
export const bridgeContract = <Server extends KubernetesServer>(
  name: string,
  open: () => Promise<Server>,
  more?: (get: () => { readonly server: Server; readonly work: WorkServer }) => void,
): void => {
  describe(`a bridge to ${name}`, () => {
    let server: Server;
    let work: WorkServer;
    let bridge: ReturnType<typeof startBridge>;
    beforeAll(async () => {
      server = await prepare(await open());
    });
    afterAll(() => server.close());
    beforeEach(async () => {
      work = await startWorkServer();
      bridge = startBridge(server, work);
      await untilJoined(1);
    });
    afterEach(async () => {
      await bridge.kill();
      work.close();
    });

    /** The number of messages of a kind that the bridge has sent. */
    const messages = (kind: string) => Promise.resolve(work.received.filter((each) => each.case === kind).length);
    const untilJoined = (count: number) =>
      until(
        () => messages('join'),
        (found) => found >= count,
      );
    const untilAccepted = (count: number) =>
      until(
        () => messages('accept'),
        (found) => found >= count,
      );
    /** The object of an execution in the cluster; `undefined` when there is none or the cluster cannot be reached. */
    const object = async (of: string) => {
      const { status, body } = await ask(server, 'GET', objectPath(NAMESPACE, of)).catch(() => ({
        status: 0,
        body: undefined,
      }));
      return status === 200 ? body : undefined;
    };
    /** Does what the engine does when it has finished with an object. */
    const removeFinalizers = (of: string) =>
      ask(server, 'PATCH', objectPath(NAMESPACE, of), { metadata: { finalizers: [] } });
    const untilGone = (of: string) =>
      until(
        () => object(of),
        (found) => found === undefined,
      );
    const untilDeleted = (of: string) =>
      until(
        () => object(of),
        (found) => found?.metadata.deletionTimestamp !== undefined,
      );

    it('makes the object of a launch, and then accepts the launch', async () => {
      const name = newName();
      work.launch(name, hello);
      await untilAccepted(1);
      expect(await object(name)).toMatchObject({ kind: 'FlyteWorkflow', executionId: { name } });
      expect(await messages('reject')).toBe(0);
    });

    it('deletes the object of an aborted execution, which is gone when the engine has removed its finalizer', async () => {
      const name = newName();
      work.launch(name, hello);
      await untilAccepted(1);
      work.abort(name);
      await untilDeleted(name);
      await removeFinalizers(name);
      await untilGone(name);
    });

    it('reports the free capacity after the end of an execution, and removes its object', async () => {
      const name = newName();
      work.launch(name, hello);
      await untilAccepted(1);
      const before = await messages('places');
      work.ended(name);
      await until(
        () => messages('places'),
        (count) => count > before,
      );
      const places = work.received.findLast((each) => each.case === 'places');
      expect(places?.value).toMatchObject({ free: 10 });
      await removeFinalizers(name);
      await untilGone(name);
    });

    it('ends an execution whose object was deleted by hand', async () => {
      const name = newName();
      work.launch(name, hello);
      await untilAccepted(1);
      await removeFinalizers(name);
      await ask(server, 'DELETE', objectPath(NAMESPACE, name));
      await until(
        () => Promise.resolve(work.events.length),
        (count) => count > 0,
      );
      expect(work.events[0]).toMatchObject({
        executionId: { name },
        phase: Phase.FAILED,
        producerId: 'propeller',
      });
    });

    it('ends an execution that is aborted right after its launch, or deletes its object', async () => {
      const name = newName();
      work.launch(name, hello, { lease: 2n, isStarted: false });
      work.abort(name, 2n);
      await until(
        async () => [await object(name), work.events.length] as const,
        ([found, count]) => count > 0 || found?.metadata.deletionTimestamp !== undefined,
      );
      expect(await messages('accept')).toBe(1);
    });

    it('takes over the object of a launch after it was killed, and makes no second one', async () => {
      const name = newName();
      work.launch(name, hello);
      await untilAccepted(1);
      const before = (await object(name))!.metadata.uid;
      await bridge.kill();
      bridge = startBridge(server, work);
      await untilJoined(2);
      work.launch(name, hello, { lease: 2n, isStarted: true });
      await untilAccepted(2);
      expect((await object(name))!.metadata.uid).toBe(before);
    });

    it('removes, when it is started again, the object of an execution that finished while it was down', async () => {
      const name = newName();
      work.launch(name, hello);
      await untilAccepted(1);
      await bridge.kill();
      await removeFinalizers(name);
      work.ended(name);
      bridge = startBridge(server, work);
      await untilGone(name);
    });

    it('makes the object of a launch that another engine had, but has not begun', async () => {
      const name = newName();
      work.launch(name, hello, { lease: 2n });
      await untilAccepted(1);
      expect(await object(name)).toBeDefined();
    });

    it('rejects a launch that another engine has begun, and makes no object', async () => {
      const name = newName();
      work.launch(name, hello, { lease: 2n, isStarted: true });
      await until(
        () => messages('reject'),
        (count) => count === 1,
      );
      expect(work.received.find((each) => each.case === 'reject')?.value).toMatchObject({
        then: { case: 'offerToOthers' },
      });
      expect(await object(name)).toBeUndefined();
    });

    it('refuses a launch whose name another launch has in the cluster', async () => {
      const name = newName();
      work.launch(name, hello, { createdAtMs: 1_000 });
      await untilAccepted(1);
      work.launch(name, hello, { lease: 2n, createdAtMs: 2_000 });
      await until(
        () => messages('reject'),
        (count) => count === 1,
      );
      expect(work.received.find((each) => each.case === 'reject')?.value).toMatchObject({
        then: { case: 'fail', value: { code: 'NameTaken' } },
      });
    });

    it('keeps its leases when the stream of work is cut', async () => {
      const name = newName();
      work.launch(name, hello);
      await untilAccepted(1);
      work.cut();
      await untilJoined(2);
      const secondJoin = work.received.findLast((each) => each.case === 'join');
      expect(secondJoin?.value).toMatchObject({ session: 's', leases: [{ execution: { name }, number: 1n }] });
      work.abort(name);
      await untilDeleted(name);
    });

    it('makes the object of a launch that came while the cluster was down, once the cluster is back', async () => {
      const name = newName();
      await server.kill();
      work.launch(name, hello);
      await server.start();
      await untilAccepted(1);
      expect(await object(name)).toBeDefined();
    });

    more?.(() => ({ server, work }));
  });
};
