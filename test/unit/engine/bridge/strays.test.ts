import { create } from '@bufbuild/protobuf';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, expect, it, vi } from 'vitest';

import { runBridge } from '../../../../engine/bridge/bridge.js';
import type { Cluster, ClusterObject } from '../../../../engine/bridge/cluster/cluster.js';
import { CallError } from '../../../../engine/call-error.js';
import type { InterfaceClient } from '../../../../engine/client.js';
import { WorkflowExecution_Phase as Phase } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import { objectOptions } from './launches.js';

const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
/** Longer than the interval of checks of an object that the bridge has no lease for. */
const INTERVAL_MS = 600_001;

/** Lets everything happen that waits for no timer. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

afterEach(() => void vi.useRealTimers());

it('an object without a lease is removed also when its execution was unknown at first', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const object: ClusterObject = {
    ...{ project: 'flytesnacks', domain: 'development', namespace: 'flytesnacks-development', name: 'e' },
    ...{ uid: 'u', resourceVersion: '1', launchId: 'l', finalizers: [] },
  };
  const deleted: string[] = [];
  const cluster: Cluster = {
    name: 'one',
    find: () => Promise.resolve(object),
    create: () => Promise.resolve('exists'),
    delete: ({ uid }) => Promise.resolve(void deleted.push(uid)),
    removeFinalizer: () => Promise.resolve(),
    follow: async (onObject) => {
      onObject(object);
      return Promise.resolve();
    },
  };
  const unknown = new CallError(
    { code: status.NOT_FOUND, details: 'no', metadata: new Metadata() } as ServiceError,
    0, // retries
  );
  /** The phase that the control plane answers; without one it does not know the execution. */
  const answered: { phase?: Phase } = {};
  const client: InterfaceClient = {
    call: ({ output }) =>
      answered.phase === undefined
        ? Promise.reject(unknown)
        : Promise.resolve(create(output, { closure: answered } as never)),
    send: () => Promise.reject(unknown),
    close: () => undefined,
  };
  const stop = new AbortController();
  const running = runBridge(
    {
      ...{ plane: { endpoint: '127.0.0.1:1' }, group: 'bridges', engine: 'east', producerId: 'p', scopes: [] },
      ...{ capacity: 1, concurrency: 1, keepFinishedMs: 0, finalizerGraceMs: 0, object: objectOptions },
      clusters: [{ name: 'one', labels: [], weight: 1, cluster }],
    },
    { client, logger, signal: stop.signal },
  );
  await settled();
  answered.phase = Phase.SUCCEEDED;
  await vi.advanceTimersByTimeAsync(INTERVAL_MS);
  await settled();
  await vi.advanceTimersByTimeAsync(1); // the object is kept for no time
  await settled();
  expect(deleted).toEqual(['u']);
  stop.abort();
  await running;
});
