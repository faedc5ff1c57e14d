import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type InterfaceClient, createClient } from '../../engine/client.js';
import { clientToken } from '../../engine/tokens/client-credentials.js';
import type { ControlPlane } from '../../engine/control-plane.js';
import { WorkflowClosureSchema } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { NAMESPACE, prepare } from '../contract/kubernetes/cluster.contract.js';
import { certificates } from '../support/servers/certificates.js';
import { flightlog, freePort, type Running } from '../support/processes/command.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import { ask, BRIDGE_TOKEN, kubeConfigOf, objectPath } from '../support/kubernetes/server.js';
import { type StandIn, startStandIn } from '../support/kubernetes/stand-in.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const { method } = AdminService;
const certificateFiles = certificates();
const folder = mkdtempSync(join(tmpdir(), 'flightlog-credentials-'));
const SECRET = 'a-secret-of-this-test-that-is-long-enough';
const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

const fileWith = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('a control plane with TLS and tokens', () => {
  let server: ServerProcess;
  let client: InterfaceClient;
  let plane: ControlPlane;

  beforeAll(async () => {
    certificateFiles.authority('ours');
    certificateFiles.issue('ours', 'server');
    const data = join(folder, 'data');
    await flightlog(['user', 'add', 'alice', '--roles', 'viewer', '--data', data], { input: 'a password of Alice\n' })
      .ended;
    const clients = ['engine', 'contributor'].map((role) => ({ id: role, secret: SECRET, roles: [role] }));
    server = await startServerProcess({
      data,
      args: ['--tls-cert', certificateFiles.file('server.pem'), '--tls-key', certificateFiles.file('server.key')],
      env: {
        FLIGHTLOG_PROJECTS: '["flytesnacks"]',
        FLIGHTLOG_AUTH_SERVER_ENABLED: 'true',
        FLIGHTLOG_AUTH_SERVER_CLIENTS: JSON.stringify(clients),
      },
    });
    const withoutToken: ControlPlane = {
      endpoint: server.ready.grpc,
      tls: { ca: readFileSync(certificateFiles.file('ours.pem')) },
    };
    const getToken = clientToken(withoutToken, { id: 'contributor', secret: () => SECRET }, () => undefined);
    plane = { ...withoutToken, getToken };
    client = createClient({ ...plane, concurrency: 4, signal: new AbortController().signal });
    for (const entry of withNeeds('01-hello').flatMap(({ entries }) => entries))
      if (/^Create(?:Task|Workflow|LaunchPlan)$/u.test(entry.method))
        await client.send(method[entry.method.replace(/^C/u, 'c') as 'createTask'], entry.bytes);
  }, 60_000);

  afterAll(async () => {
    client.close();
    await server.stop();
    certificateFiles.remove();
    rmSync(folder, { recursive: true });
  });

  const launch = (name: string) => client.call(method.createExecution, helloRequest(name));
  const phaseOf = async (name: string) => (await client.call(method.getExecution, { id: idOf(name) })).closure?.phase;
  const engine = (...flags: readonly string[]): Running =>
    flightlog(['engine', '--endpoint', server.ready.grpc, '--ca-file', certificateFiles.file('ours.pem'), ...flags]);

  it('is served by an engine with client credentials, which ends when nothing is left to run', async () => {
    await launch('by-client');
    const flags = ['--client-id', 'engine', '--client-secret-file', fileWith('secret', `${SECRET}\n`)];
    const { code, stdout } = await engine(...flags, '--until-idle').ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ endedBecause: 'idle', executions: { SUCCEEDED: 1 } });
    expect(await phaseOf('by-client')).toBe(Phase.SUCCEEDED);
  });

  it('refuses an engine whose token file has no token of its issuer, until the file has one', async () => {
    await launch('by-file');
    const file = fileWith('token', 'garbage');
    const running = engine('--token-file', file, '--until-idle');
    await until(
      () => Promise.resolve(running.stderr()),
      (log) => log.includes('the engine feed has refused the engine'),
    );
    writeFileSync(file, await clientToken(plane, { id: 'engine', secret: () => SECRET }, () => undefined)());
    expect(JSON.parse((await running.ended).stdout)).toMatchObject({ executions: { SUCCEEDED: 1 } });
  });

  it('is not served by an engine whose secret cannot be read, or that has two ways to sign in: the engine exits', async () => {
    const none = await engine('--client-id', 'engine', '--client-secret-file', join(folder, 'none')).ended;
    expect(none.code).toBe(1);
    expect(none.stderr).toContain('must have the secret of the client');
    const both = await engine('--client-id', 'engine', '--token-file', fileWith('token', 'x')).ended;
    expect(both.code).toBe(1);
    expect(both.stderr).toContain('leave one out');
  });

  describe('a bridge that is connected to it', () => {
    let cluster: StandIn;
    let bridge: Running;
    let metricsPort: number;

    beforeAll(async () => {
      cluster = await prepare(await startStandIn());
      metricsPort = await freePort();
      const kubeconfig = fileWith('kubeconfig', kubeConfigOf(cluster.url, BRIDGE_TOKEN).exportConfig());
      const settings = {
        ...{
          endpoint: server.ready.grpc,
          ca_file: certificateFiles.file('ours.pem'),
          clusters: [{ name: 'one', kubeconfig }],
        },
        ...{ client_id: 'engine', client_secret_file: fileWith('secret', SECRET), metrics_port: metricsPort },
        ...{ offload_to: join(folder, 'offloaded'), offload_above_bytes: 20 }, // less than any closure or inputs
      };
      bridge = flightlog(['bridge', '--config', fileWith('flightlog.json', JSON.stringify({ bridge: settings }))]);
    }, 60_000);

    afterAll(async () => {
      bridge.child.kill('SIGKILL');
      await bridge.ended;
      await cluster.close();
    });

    /** The `FlyteWorkflow` object of an execution; undefined when the cluster has none. */
    const object = async (name: string) => {
      const { status, body } = await ask(cluster, 'GET', objectPath(NAMESPACE, name));
      return status === 200 ? body : undefined;
    };
    const probe = (path: string) => fetch(`http://127.0.0.1:${metricsPort}${path}`);

    it('gives engines the addresses of the closure and inputs that are above the size limit', async () => {
      await launch('offloaded');
      const found = await until(
        () => object('offloaded'),
        (each) => each !== undefined,
      );
      for (const key of ['spec', 'tasks', 'subWorkflows', 'inputs']) expect(found).not.toHaveProperty(key);
      const contents = (key: string) => readFileSync(fileURLToPath(String(found![key])));
      const { compiledWorkflow } = fromBinary(WorkflowClosureSchema, contents('workflowClosureReference'));
      expect(compiledWorkflow?.primary?.template?.id?.name).toBe('hello.hello');
      const { literals } = fromBinary(LiteralMapSchema, contents('offloadedInputs'));
      const { fullInputs } = await client.call(method.getExecutionData, { id: idOf('offloaded') });
      expect(literals).toEqual(fullInputs?.literals);
    });

    it('counts calls in metrics, and is ready until the control plane stops', async () => {
      expect((await probe('/healthz')).status).toBe(200);
      expect((await probe('/readyz')).status).toBe(200);
      const text = await until(
        async () => (await probe('/metrics')).text(),
        (now) => now.includes('call="create",outcome="ok"') && now.includes('flightlog_bridge_executions{aim="run"} 1'),
      );
      expect(text).toContain('flightlog_bridge_joined 1\n');
      expect(text).toMatch(
        /^flightlog_bridge_cluster_call_duration_seconds_count\{.*call="create",outcome="ok"\} 1$/mu,
      );
      expect(text).toMatch(/^flightlog_bridge_offloaded_bytes_total [1-9]\d*$/mu);
      await server.stop();
      await until(
        () => probe('/readyz'),
        ({ status }) => status === 503,
      );
    });
  });
});
