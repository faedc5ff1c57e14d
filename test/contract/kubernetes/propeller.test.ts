import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { IdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { OutputReferenceSchema } from '../../../proto/gen/platformidl/core/types_pb.js';
import { WorkflowNodeSchema } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { flightlog, type Running } from '../../support/processes/command.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { literal } from '../../support/requests/hello.js';
import {
  inputsOf,
  type Kubelet,
  type Outcome,
  type Pod,
  startKubelet,
  taskOf,
} from '../../support/kubernetes/kubelet.js';
import { fileStore, propeller, startPropeller } from '../../support/kubernetes/propeller.js';
import { kubeApiserver, startRealServer } from '../../support/kubernetes/real.js';
import { ask, BRIDGE_TOKEN, kubeConfigOf, type KubernetesServer, objectPath } from '../../support/kubernetes/server.js';
import { PLACE, registerWorkflow } from '../../support/requests/registrations.js';
import { until } from '../../support/until.js';
import { wideWorkflow } from '../../support/requests/wide-workflow.js';
import { NAMESPACE, prepare } from './cluster.contract.js';

const { method } = AdminService;
type Literal = MessageInitShape<typeof LiteralSchema>;

/** Closures and inputs above this size are stored outside the object, in files; those of one task are smaller. */
const OFFLOAD_ABOVE_BYTES = 4_000;

/** Time limit of a test: a real API server and engine are slower than what contract tests start otherwise. */
const LIMIT_MS = 120_000;

const OUTPUTS: Readonly<Record<string, Outcome>> = {
  'hello.greet': { case: 'outputs', outputs: { literals: { o0: literal('hello') } } },
  'failures.risky': { case: 'outputs', outputs: { literals: { o0: literal(1n) } } },
  'maps.negate': { case: 'outputs', outputs: { literals: { o0: literal(-1n) } } },
};
const FAILED_ONCE: Outcome = { case: 'error', code: 'USER:Unlucky', message: 'the first time', isRecoverable: true };

/** Each pod writes the outputs of its task; those of `aborted` run without end, and the first of `retried` fails. */
const outcomeOf = (pod: Pod): Outcome => {
  const execution = pod.metadata.labels?.['execution-id'];
  if (execution === 'aborted') return { case: 'running' };
  if (pod.metadata.name === 'retried-failuresrisky-0') return FAILED_ONCE;
  return OUTPUTS[taskOf(pod)] ?? { case: 'crash', exitCode: 1 };
};

/** The workflow of `07-maps` with only the node that maps a task: propeller maps no launch plans. */
const mapOfTask = () => {
  const request = fromBinary(WorkflowCreateRequestSchema, fixtureBytes('07-maps/008-workflow.create_request.pb'));
  const { template } = request.spec!;
  const [map] = template!.nodes.filter(({ id }) => id === 'n1');
  template!.nodes = [map!];
  template!.outputs = template!.outputs.filter((output) => output.var === 'o1');
  template!.outputs[0]!.binding!.value = {
    case: 'promise',
    value: create(OutputReferenceSchema, { nodeId: 'n1', var: 'o0' }),
  };
  template!.interface!.inputs!.variables = { pixels: template!.interface!.inputs!.variables['pixels']! };
  template!.interface!.outputs!.variables = { o1: template!.interface!.outputs!.variables['o1']! };
  return { ...request, id: { ...request.id!, name: 'maps.one' } };
};

const collection = (literals: Literal[]): Literal => ({ value: { case: 'collection', value: { literals } } });
const idOf = (name: string) => ({ ...PLACE, name });

describe.skipIf(kubeApiserver === undefined || propeller === undefined)(
  'propeller, behind a bridge',
  { timeout: LIMIT_MS },
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-propeller-'));
    let cluster: KubernetesServer;
    let plane: ControlPlane;
    let bridge: Running;
    let engine: Running;
    let kubelet: Kubelet;

    /** Makes a launch plan of a workflow, with its name. */
    const plan = (name: string) => {
      const [id, workflowId] = [ResourceType.LAUNCH_PLAN, ResourceType.WORKFLOW].map((resourceType) => ({
        ...{ ...PLACE, name, version: 'v1', resourceType },
      }));
      return plane.grpc.call(method.createLaunchPlan, { id: id!, spec: { workflowId: workflowId! } });
    };

    const startBridge = (): Running => {
      const [kubeconfig, file] = [join(directory, 'kubeconfig'), join(directory, 'flightlog.json')];
      const settings = {
        ...{ clusters: [{ name: 'one', kubeconfig }], keep_finished: '0s' },
        ...{ offload_to: join(directory, 'offloaded'), offload_above_bytes: OFFLOAD_ABOVE_BYTES },
      };
      writeFileSync(kubeconfig, kubeConfigOf(cluster.url, BRIDGE_TOKEN).exportConfig());
      writeFileSync(file, JSON.stringify({ bridge: settings }));
      return flightlog(['bridge', '--config', file, '--endpoint', plane.server().ready.grpc]);
    };

    beforeAll(async () => {
      [cluster, plane] = await Promise.all([startRealServer().then(prepare), startControlPlane()]);
      await register(plane.grpc, withNeeds('01-hello', '07-maps', '11-failures'));
      await registerWorkflow(plane.grpc, { name: 'parent' }, ({ spec }) => {
        const child = { ...PLACE, resourceType: ResourceType.LAUNCH_PLAN, name: 'hello.hello', version: 'v1' };
        const reference = { case: 'launchplanRef', value: create(IdentifierSchema, child) } as const;
        spec!.template!.nodes[0]!.target = { case: 'workflowNode', value: create(WorkflowNodeSchema, { reference }) };
      });
      await plane.grpc.call(method.createWorkflow, mapOfTask());
      await plane.grpc.call(method.createWorkflow, wideWorkflow('v1', 30, 30));
      for (const name of ['parent', 'maps.one', 'wide']) await plan(name);
      bridge = startBridge();
      engine = await startPropeller({ server: cluster, endpoint: plane.server().ready.grpc, directory });
      kubelet = startKubelet(cluster, fileStore, outcomeOf);
    }, LIMIT_MS);

    afterAll(async () => {
      await kubelet.stop();
      for (const { child } of [engine, bridge]) child.kill('SIGKILL');
      await Promise.all([engine.ended, bridge.ended]);
      await plane.close();
      await cluster.close();
      rmSync(directory, { recursive: true });
    });

    const launch = (planName: string, name: string, inputs: Readonly<Record<string, Literal>>) => {
      const launchPlan = { ...PLACE, resourceType: ResourceType.LAUNCH_PLAN, name: planName, version: 'v1' };
      return plane.grpc.call(method.createExecution, {
        ...idOf(name),
        spec: { launchPlan },
        inputs: { literals: inputs },
      });
    };
    const phaseOf = async (name: string) =>
      (await plane.grpc.call(method.getExecution, { id: idOf(name) })).closure?.phase;
    const untilPhase = (name: string, phase: Phase) =>
      until(
        () => phaseOf(name),
        (found) => found === phase,
      );
    const object = async (name: string) => {
      const { status, body } = await ask(cluster, 'GET', objectPath(NAMESPACE, name));
      return status === 200 ? body : undefined;
    };
    const untilGone = (name: string) =>
      until(
        () => object(name),
        (found) => found === undefined,
      );
    const outputsOf = async (name: string) =>
      (await plane.grpc.call(method.getExecutionData, { id: idOf(name) })).fullOutputs?.literals;
    const nodeOf = async (name: string, nodeId: string) =>
      (await plane.grpc.call(method.getNodeExecution, { id: { executionId: idOf(name), nodeId } })).closure;
    const attemptsOf = async (name: string, nodeId: string) => {
      const request = { nodeExecutionId: { executionId: idOf(name), nodeId }, limit: 10 };
      const { taskExecutions } = await plane.grpc.call(method.listTaskExecutions, request);
      return taskExecutions.map(({ closure }) => closure?.phase);
    };
    const podsOf = (name: string) => kubelet.pods.filter(({ metadata }) => metadata.labels?.['execution-id'] === name);

    it('runs a task, whose outputs are those of the execution, and the object is removed', async () => {
      await launch('hello.hello', 'task', { name: literal('Ada'), times: literal(2n) });
      await untilPhase('task', Phase.SUCCEEDED);
      expect(await outputsOf('task')).toMatchObject({ o0: literal('hello') });
      expect(await attemptsOf('task', 'n0')).toEqual([TaskPhase.SUCCEEDED]);
      expect((await inputsOf(podsOf('task')[0]!, fileStore)).literals).toMatchObject({ name: literal('Ada') });
      await untilGone('task');
    });

    it('launches a child execution, whose outputs become those of its parent', async () => {
      await launch('parent', 'parent', { name: literal('Ada'), times: literal(1n) });
      await untilPhase('parent', Phase.SUCCEEDED);
      expect(await outputsOf('parent')).toMatchObject({ o0: literal('hello') });
      const child = (await nodeOf('parent', 'n0'))?.targetMetadata;
      expect(child).toMatchObject({ case: 'workflowNodeMetadata', value: { executionId: idOf('parent-n0-0') } });
      expect(podsOf('parent-n0-0')).toHaveLength(1);
      await untilGone('parent-n0-0');
    });

    it('runs a mapped task once for each element of its input, and collects the outputs', async () => {
      await launch('maps.one', 'mapped', { pixels: collection([literal(1n), literal(2n)]) });
      await untilPhase('mapped', Phase.SUCCEEDED);
      expect(await outputsOf('mapped')).toMatchObject({ o1: collection([literal(-1n), literal(-1n)]) });
      expect(podsOf('mapped')).toHaveLength(2);
    });

    it('runs a task again that has failed with a recoverable error', async () => {
      const launchPlan = { ...PLACE, resourceType: ResourceType.TASK, name: 'failures.risky', version: 'v1' };
      const inputs = { literals: { seed: literal(1n) } };
      await plane.grpc.call(method.createExecution, { ...idOf('retried'), spec: { launchPlan }, inputs });
      await untilPhase('retried', Phase.SUCCEEDED);
      expect((await attemptsOf('retried', 'failuresrisky')).toSorted()).toEqual(
        [TaskPhase.SUCCEEDED, TaskPhase.FAILED].toSorted(),
      );
    });

    it('stops the pods of an aborted execution, and reports its end', async () => {
      await launch('hello.hello', 'aborted', {});
      await until(
        async () => (await nodeOf('aborted', 'n0').catch(() => undefined))?.phase,
        (phase) => phase === NodePhase.RUNNING,
      );
      await plane.grpc.call(method.terminateExecution, { id: idOf('aborted'), cause: 'enough' });
      await untilPhase('aborted', Phase.ABORTED);
      await untilGone('aborted');
      expect((await nodeOf('aborted', 'n0'))?.phase).toBe(NodePhase.ABORTED);
      expect((await ask(cluster, 'GET', '/api/v1/pods?labelSelector=execution-id%3Daborted')).body.items).toEqual([]);
    });

    it('runs executions whose closure or inputs are so large that they are stored outside the object', async () => {
      await launch('wide', 'wide', {});
      const made = await until(
        () => object('wide'),
        (found) => found !== undefined,
      );
      expect(made).toMatchObject({ workflowClosureReference: expect.stringContaining('/closures/') as string });
      await untilPhase('wide', Phase.SUCCEEDED);
      const long = 'x'.repeat(OFFLOAD_ABOVE_BYTES);
      await launch('hello.hello', 'long', { name: literal(long) });
      await untilPhase('long', Phase.SUCCEEDED);
      expect((await inputsOf(podsOf('long')[0]!, fileStore)).literals).toMatchObject({ name: literal(long) });
      const stored = readdirSync(join(directory, 'offloaded'), { recursive: true, encoding: 'utf8' });
      expect(stored.filter((path) => /\/inputs\/.*\.pb$/u.test(path))).toHaveLength(1);
    });

    it('shares executions with another engine by the shards of their objects', async () => {
      engine.child.kill('SIGKILL');
      await engine.ended;
      // The label `shard-key` of an object is one of 32 numbers; each engine gets half of them.
      const shards = Array.from({ length: 32 }, (_, shard) => String(shard));
      const names = Array.from({ length: 8 }, (_, index) => `shared${index}`);
      for (const name of names) await launch('hello.hello', name, { name: literal('Ada'), times: literal(1n) });
      const made = (name: string) =>
        until(
          () => object(name),
          (found) => found !== undefined,
        );
      const shardOf = async (name: string) => Number((await made(name))?.metadata.labels?.['shard-key']);
      const shardsOfAll = await Promise.all(names.map(shardOf));
      const own = names.filter((_, index) => shardsOfAll[index]! < 16);
      const others = names.filter((name) => !own.includes(name));
      expect([own.length > 0, others.length > 0]).toEqual([true, true]);

      const options = { server: cluster, endpoint: plane.server().ready.grpc, directory };
      engine = await startPropeller({ ...options, shards: shards.slice(0, 16) });
      await Promise.all(own.map((name) => untilPhase(name, Phase.SUCCEEDED)));
      expect(others.flatMap(podsOf)).toEqual([]);

      const second = await startPropeller({ ...options, shards: shards.slice(16) });
      await Promise.all(others.map((name) => untilPhase(name, Phase.SUCCEEDED)));
      expect(names.map((name) => podsOf(name).length)).toEqual(names.map(() => 1));
      second.child.kill('SIGKILL');
      await second.ended;
    });
  },
);
