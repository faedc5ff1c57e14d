import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ExecutionEvent, executionCodec } from '../../../services/execution/events.js';
import { decodeEvent } from '../../../services/kernel/decode-event.js';
import { executionStream } from '../../../services/kernel/execution-id.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { overGrpc, type Transport } from '../../support/clients/transports.js';
import { type Kubelet, type Outcome, type Pod, startKubelet } from '../../support/kubernetes/kubelet.js';
import { fileStore, propeller, startPropeller } from '../../support/kubernetes/propeller.js';
import { kubeApiserver, startRealServer } from '../../support/kubernetes/real.js';
import { ask, BRIDGE_TOKEN, kubeConfigOf, type KubernetesServer, objectPath } from '../../support/kubernetes/server.js';
import { flightlog, freePort, type Running } from '../../support/processes/command.js';
import { register } from '../../support/processes/control-plane.js';
import { type ServerProcess, startServerProcess } from '../../support/processes/server-process.js';
import { openTestLog } from '../../support/processes/test-log.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { literal } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import { wideWorkflow } from '../../support/requests/wide-workflow.js';
import { until } from '../../support/until.js';
import { NAMESPACE, prepare } from './cluster.contract.js';

const { method } = AdminService;
/** Time limit of the test, in milliseconds: it starts real programs more than ten times. */
const LIMIT_MS = 300_000;
const GREETED: Outcome = { case: 'outputs', outputs: { literals: { o0: literal('hello') } } };
const NODES = 8;
/** The executions that are aborted: while the bridge is down, after the control plane was, and while the engine is. */
const ABORTED = ['aborted-0', 'aborted-1', 'aborted-2'];
const TERMINAL: ReadonlySet<number> = new Set([Phase.SUCCEEDED, Phase.FAILED, Phase.ABORTED, Phase.TIMED_OUT]);

const idOf = (name: string) => ({ ...PLACE, name });
const executionOf = ({ metadata }: Pod): string => metadata.labels?.['execution-id'] ?? '';

describe.skipIf(kubeApiserver === undefined || propeller === undefined)(
  'propeller, its bridge and its control plane',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-propeller-'));
    const directoryOfServer = join(directory, 'data');
    let cluster: KubernetesServer;
    let port: number;
    let server: ServerProcess;
    let grpc: Transport;
    let bridge: Running;
    let engine: Running;
    let kubelet: Kubelet;
    /** The number of tasks of `killed` that may end. */
    let allowed = 0;
    let begun = 0;

    /** Pods of aborted executions run without end, and those of `killed` until they may end. */
    const act = async (pod: Pod): Promise<Outcome> => {
      if (executionOf(pod) !== 'killed') return { case: 'running' };
      begun += 1;
      const turn = begun;
      await until(
        () => Promise.resolve(allowed),
        (count) => count >= turn,
        LIMIT_MS,
      );
      return GREETED;
    };

    const startServer = async (): Promise<void> => {
      const env = { FLIGHTLOG_PROJECTS: '["flytesnacks"]' };
      server = await startServerProcess({ data: directoryOfServer, args: ['--grpc-port', String(port)], env });
    };
    const startBridge = (): void => {
      const [kubeconfig, file] = [join(directory, 'kubeconfig'), join(directory, 'flightlog.json')];
      writeFileSync(kubeconfig, kubeConfigOf(cluster.url, BRIDGE_TOKEN).exportConfig());
      writeFileSync(file, JSON.stringify({ bridge: { clusters: [{ name: 'one', kubeconfig }], keep_finished: '0s' } }));
      bridge = flightlog(['bridge', '--config', file, '--endpoint', `127.0.0.1:${port}`]);
    };
    const startEngine = async (): Promise<void> => {
      engine = await startPropeller({ server: cluster, endpoint: `127.0.0.1:${port}`, directory });
    };
    const kill = async (running: Running): Promise<void> => {
      running.child.kill('SIGKILL');
      await running.ended;
    };

    beforeAll(async () => {
      port = await freePort();
      cluster = await prepare(await startRealServer());
      await startServer();
      grpc = overGrpc(server.ready);
      await register(grpc, withNeeds('01-hello'));
      await grpc.call(method.createWorkflow, wideWorkflow('v1', NODES, 2));
      const [id, workflowId] = [ResourceType.LAUNCH_PLAN, ResourceType.WORKFLOW].map((resourceType) => ({
        ...{ ...PLACE, name: 'wide', version: 'v1', resourceType },
      }));
      await grpc.call(method.createLaunchPlan, { id: id!, spec: { workflowId: workflowId! } });
      startBridge();
      await startEngine();
      kubelet = startKubelet(cluster, fileStore, act);
    }, LIMIT_MS);

    afterAll(async () => {
      allowed = NODES;
      await kubelet.stop();
      await Promise.all([bridge, engine].map(kill));
      grpc.close();
      await server.kill();
      await cluster.close();
      rmSync(directory, { recursive: true });
    });

    const launch = (plan: string, name: string) => {
      const launchPlan = { ...PLACE, resourceType: ResourceType.LAUNCH_PLAN, name: plan, version: 'v1' };
      return grpc.call(method.createExecution, { ...idOf(name), spec: { launchPlan }, inputs: { literals: {} } });
    };
    const abort = (name: string) => grpc.call(method.terminateExecution, { id: idOf(name), cause: 'enough' });
    const untilPhase = (name: string, phase: Phase) =>
      until(
        async () => (await grpc.call(method.getExecution, { id: idOf(name) })).closure?.phase,
        (found) => found === phase,
      );
    const nodesOf = async (name: string) =>
      (await grpc.call(method.listNodeExecutions, { workflowExecutionId: idOf(name), limit: 100 })).nodeExecutions;
    /** Lets one more task end; its pod has ended when this resolves, whichever programs run. */
    const endTask = async (): Promise<void> => {
      allowed += 1;
      await until(
        async () => (await ask(cluster, 'GET', '/api/v1/pods')).body.items as unknown as readonly Pod[],
        (pods) => pods.filter(({ status }) => status.phase === 'Succeeded').length >= allowed,
      );
    };
    /** Waits until the control plane knows the end of each task that has ended. */
    const untilReported = () =>
      until(
        async () => (await nodesOf('killed')).filter(({ id }) => /^n\d+$/u.test(id?.nodeId ?? '')),
        (nodes) => nodes.filter(({ closure }) => closure?.phase === NodePhase.SUCCEEDED).length >= allowed,
      );
    const untilRunning = (name: string) =>
      until(
        async () => (await nodesOf(name)).map(({ closure }) => closure?.phase),
        (phases) => phases.includes(NodePhase.RUNNING),
      );

    const events = async (name: string): Promise<readonly ExecutionEvent[]> => {
      const log = await openTestLog(directoryOfServer);
      const recorded: RecordedEvent[] = [];
      for await (const page of log.readStream(executionStream(idOf(name)))) recorded.push(...page);
      await log.close();
      return recorded.map((event) => decodeEvent(executionCodec, event));
    };
    /** The phases with which an execution has ended, by its events. */
    const endsOf = async (name: string): Promise<readonly number[]> =>
      (await events(name)).flatMap(({ type, data }) => {
        if (type === 'ExecutionExpired') return [data.phase];
        return type === 'WorkflowPhaseReported' && !data.samePhase && TERMINAL.has(data.phase) ? [data.phase] : [];
      });
    /** The answers from the views about all executions. */
    const answers = async () => ({
      executions: (await grpc.call(method.listExecutions, { id: PLACE, limit: 100 })).executions,
      nodes: await Promise.all(['killed', ...ABORTED].map(nodesOf)),
    });

    it(
      'may be killed in the middle of a workflow: each execution ends once, and the tasks of the workflow run once',
      async () => {
        for (const name of ABORTED) await launch('hello.hello', name);
        await Promise.all(ABORTED.map(untilRunning));
        await launch('wide', 'killed');
        await endTask();
        await untilReported();

        await kill(bridge);
        await abort(ABORTED[0]!);
        await endTask();
        startBridge();
        await untilPhase(ABORTED[0]!, Phase.ABORTED);
        await untilReported();

        await server.kill();
        await endTask();
        await startServer();
        await abort(ABORTED[1]!);
        await untilPhase(ABORTED[1]!, Phase.ABORTED);
        await untilReported();

        await kill(engine);
        await abort(ABORTED[2]!);
        await endTask();
        await startEngine();
        await untilPhase(ABORTED[2]!, Phase.ABORTED);
        await untilReported();

        await Promise.all([kill(bridge), kill(engine), server.kill()]);
        await endTask();
        await startServer();
        startBridge();
        await startEngine();
        allowed = NODES;
        await untilPhase('killed', Phase.SUCCEEDED);

        expect(await endsOf('killed')).toEqual([Phase.SUCCEEDED]);
        for (const name of ABORTED) expect(await endsOf(name)).toEqual([Phase.ABORTED]);
        const tasks = kubelet.pods.filter((pod) => executionOf(pod) === 'killed');
        expect(new Set(tasks.map(({ metadata }) => metadata.name)).size).toBe(NODES);
        expect(tasks).toHaveLength(NODES);
        for (const name of ['killed', ...ABORTED])
          await until(
            () => ask(cluster, 'GET', objectPath(NAMESPACE, name)),
            ({ status }) => status === 404,
          );

        const before = await answers();
        expect(await server.stop()).toBe(0);
        expect((await flightlog(['views', 'rebuild', '--data', directoryOfServer]).ended).code).toBe(0);
        await startServer();
        expect(await answers()).toEqual(before);
      },
      LIMIT_MS,
    );
  },
);
