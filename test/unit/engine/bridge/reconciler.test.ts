import { create } from '@bufbuild/protobuf';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';

import { WorkLaunchSchema, WorkLeaseSchema } from '../../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { type Cluster, type ClusterObject } from '../../../../engine/bridge/cluster/cluster.js';
import { managedExecutionOf } from '../../../../engine/bridge/execution-table.js';
import { Reconciler } from '../../../../engine/bridge/reconciler.js';
import { CallError } from '../../../../engine/call-error.js';
import type { InterfaceClient } from '../../../../engine/client.js';
import { fixtureLaunch, objectOptions } from './launches.js';

const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

it('an abort while the object is created deletes no object of another launch that has taken its name', async () => {
  const { id, closure, inputs } = fixtureLaunch('01-hello');
  const work = create(WorkLaunchSchema, {
    workflow: { case: 'closure', value: closure },
    input: { case: 'inputs', value: inputs },
    createdAt: { seconds: 1n },
  });
  const managed = managedExecutionOf(work, create(WorkLeaseSchema, { execution: id, number: 1n }), id);
  const foreign: ClusterObject = {
    ...{ project: id.project, domain: id.domain, namespace: 'flytesnacks-development', name: id.name },
    ...{ uid: 'other', resourceVersion: '1', launchId: 'another', finalizers: [] },
  };
  const deleted: string[] = [];
  const cluster: Cluster = {
    name: 'one',
    find: () => Promise.resolve(foreign),
    create: () => {
      managed.aim = 'abort';
      return Promise.resolve('created');
    },
    delete: ({ uid }) => Promise.resolve(void deleted.push(uid)),
    removeFinalizer: () => Promise.resolve(),
    follow: () => Promise.resolve(),
  };
  /** The answer to each call: the bridge no longer has the lease. */
  const refused = new CallError(
    { code: status.FAILED_PRECONDITION, details: 'no', metadata: new Metadata() } as ServiceError,
    0, // retries
  );
  const client: InterfaceClient = {
    call: () => Promise.reject(refused),
    send: () => Promise.reject(refused),
    close: () => undefined,
  };
  const reconciler = new Reconciler({
    ...{ client, object: objectOptions, producerId: 'east', finalizerGraceMs: 0, logger, send: () => undefined },
    clusters: [{ name: 'one', labels: [], weight: 1, cluster }],
  });
  expect(await reconciler.reconcile(managed)).toBe('wait');
  expect(deleted).toEqual([]);
});
