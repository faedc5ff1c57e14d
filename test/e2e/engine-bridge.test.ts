import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { NAMESPACE, prepare } from '../contract/kubernetes/cluster.contract.js';
import { flightlog, type Running } from '../support/processes/command.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { ask, BRIDGE_TOKEN, kubeConfigOf, objectPath } from '../support/kubernetes/server.js';
import { type StandIn, startStandIn } from '../support/kubernetes/stand-in.js';
import { until } from '../support/until.js';
import { openWork } from '../support/clients/work-stream.js';

const { createExecution, createWorkflowEvent, getExecution, terminateExecution } = AdminService.method;
const folder = mkdtempSync(join(tmpdir(), 'flightlog-bridge-'));
/** Writes the settings of a bridge to one cluster, whose objects it deletes as soon as their executions have ended. */
const settingsFile = (kubeconfig: string): string => {
  const file = join(folder, 'flightlog.json');
  writeFileSync(file, JSON.stringify({ bridge: { clusters: [{ name: 'one', kubeconfig }], keep_finished: '0s' } }));
  return file;
};

// The tests follow one another: the first kills the bridge and starts it again, the fourth stops it.
describe('flightlog bridge', () => {
  let plane: ControlPlane;
  let cluster: StandIn;
  let bridge: Running;
  beforeAll(async () => {
    cluster = await prepare(await startStandIn());
    plane = await startControlPlane();
    await register(plane.grpc, withNeeds('01-hello'));
    bridge = startBridge();
  });
  afterAll(async () => {
    bridge.child.kill('SIGKILL');
    await plane.close();
    await cluster.close();
    rmSync(folder, { recursive: true });
  });

  /** Starts the program as an operator does, with a file of settings and a kubeconfig. */
  const startBridge = (): Running => {
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, kubeConfigOf(cluster.url, BRIDGE_TOKEN).exportConfig());
    return flightlog(['bridge', '--config', settingsFile(kubeconfig), '--endpoint', plane.server().ready.grpc]);
  };

  const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });
  const launch = async (name: string): Promise<void> => {
    const { id } = fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'launch_plan')!;
    const launchPlan = { ...id, resourceType: ResourceType.LAUNCH_PLAN };
    await plane.grpc.call(createExecution, { ...idOf(name), spec: { launchPlan } });
  };
  /** The `FlyteWorkflow` object of an execution; undefined when the cluster has none. */
  const object = async (name: string) => {
    const { status, body } = await ask(cluster, 'GET', objectPath(NAMESPACE, name));
    return status === 200 ? body : undefined;
  };
  const untilExists = (name: string) =>
    until(
      () => object(name),
      (found) => found !== undefined,
    );
  const untilMarkedDeleted = (name: string) =>
    until(
      () => object(name),
      (found) => found?.metadata.deletionTimestamp !== undefined,
    );
  const untilGone = (name: string) =>
    until(
      () => object(name),
      (found) => found === undefined,
    );
  const phaseOf = async (name: string) => (await plane.grpc.call(getExecution, { id: idOf(name) })).closure?.phase;

  /** Reports as an engine does, with the id of the execution that the object has. */
  const report = async (name: string, phase: Phase): Promise<void> => {
    const executionId = (await object(name))!['executionId'] as ReturnType<typeof idOf>;
    const outputResult =
      phase === Phase.ABORTED
        ? { case: 'error' as const, value: { code: 'Aborted', message: 'its object was deleted' } }
        : { case: undefined };
    const occurredAt = { seconds: BigInt(Math.floor(Date.now() / 1_000)), nanos: 0 };
    const event = { executionId, producerId: 'propeller', phase, occurredAt, outputResult };
    await plane.grpc.call(createWorkflowEvent, { requestId: `${name}-${phase}`, event });
  };
  const removeFinalizers = (name: string) =>
    ask(cluster, 'PATCH', objectPath(NAMESPACE, name), { metadata: { finalizers: [] } });

  it('makes the object of an execution once, and deletes it at the end, although the bridge is killed', async () => {
    await launch('b1');
    await untilExists('b1');
    await report('b1', Phase.RUNNING);
    bridge.child.kill('SIGKILL');
    await bridge.ended;
    await report('b1', Phase.SUCCEEDED);
    await removeFinalizers('b1');
    bridge = startBridge();
    await untilGone('b1');
    expect(await phaseOf('b1')).toBe(Phase.SUCCEEDED);
    const created = cluster.requests.filter((each) => each.startsWith('POST') && each.includes('flyteworkflows'));
    expect(created).toHaveLength(1);
  });

  it('deletes the object of an execution that is terminated, whose end the engine reports', async () => {
    await launch('b2');
    await untilExists('b2');
    await report('b2', Phase.RUNNING);
    await plane.grpc.call(terminateExecution, { id: idOf('b2'), cause: 'test' });
    await untilMarkedDeleted('b2');
    await report('b2', Phase.ABORTED);
    await removeFinalizers('b2');
    await untilGone('b2');
    expect(await phaseOf('b2')).toBe(Phase.ABORTED);
  });

  it('fails an execution whose object is deleted by hand', async () => {
    await launch('b3');
    await untilExists('b3');
    await report('b3', Phase.RUNNING);
    await removeFinalizers('b3');
    await ask(cluster, 'DELETE', objectPath(NAMESPACE, 'b3'));
    await until(
      () => phaseOf('b3'),
      (phase) => phase === Phase.FAILED,
    );
  });

  it('exits with 0 at SIGTERM, and leaves the objects in the cluster', async () => {
    await launch('b4');
    await untilExists('b4');
    bridge.child.kill('SIGTERM');
    expect((await bridge.ended).code).toBe(0);
    expect((await object('b4'))?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('makes the object of an execution whose earlier lease has ended before its object was made', async () => {
    await launch('b5'); // no bridge runs
    const other = openWork(plane.server().ready.grpc, { group: 'bridges', engine: 'other', freePlaces: 1 });
    expect(await other.next('launch')).toMatchObject({ lease: { execution: idOf('b5'), number: 1n } });
    other.send({ case: 'leave', value: {} });
    await other.ended;
    bridge = startBridge();
    await untilExists('b5');
  });

  it('exits with 1 when it cannot use a cluster, which it names', async () => {
    const { code, stderr } = await flightlog(['bridge', '--config', settingsFile(join(folder, 'none'))]).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('bridge.clusters: one:');
  });
});
