import { connect, createServer } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterAll, describe, expect, it } from 'vitest';

import { certificates } from '../support/servers/certificates.js';
import { flightlog, type Running, start } from '../support/processes/command.js';
import { fixtureFolder } from '../support/requests/fixtures.js';
import { until } from '../support/until.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-sandbox-'));
const data = join(folder, 'with a space');

const startSandbox = async (...more: readonly string[]): Promise<Running> => {
  const ports = ['--grpc-port', '0', '--http-port', '0', '--engine-rate', '0'];
  const sandbox = flightlog(['sandbox', '--data', data, ...ports, ...more]);
  await sandbox.said('Ctrl-C stops.');
  return sandbox;
};

/** The URL of the REST API that the sandbox has printed. */
const api = (sandbox: Running): string => /REST\s+(\S+)/u.exec(sandbox.stdout())?.[1] ?? '';

const get = async (url: string): Promise<Record<string, unknown>> =>
  (await (await fetch(url)).json()) as Record<string, unknown>;

/** The phase of the execution that the sandbox has launched. */
const phaseOf = async (sandbox: Running): Promise<unknown> => {
  const { closure } = await get(`${api(sandbox)}/executions/flytesnacks/development/churn-v1`);
  return (closure as { phase: string }).phase;
};

type Node = { readonly closure: { readonly phase: string }; readonly metadata: { readonly isDynamic: boolean } };

/** Launches a sample, and waits until its nodes are as wanted. */
const launchAndWait = async (
  sandbox: Running,
  { name, inputs = {} }: { readonly name: string; readonly inputs?: object },
  areAsWanted: (nodes: readonly Node[]) => boolean,
): Promise<void> => {
  const plan = { resource_type: 'LAUNCH_PLAN', project: 'flytesnacks', domain: 'development', name, version: 'v1' };
  const request = { project: 'flytesnacks', domain: 'development', spec: { launch_plan: plan }, inputs };
  const answer = await fetch(`${api(sandbox)}/executions`, { method: 'POST', body: JSON.stringify(request) });
  const launched = (await answer.json()) as { readonly id: { readonly name: string } };
  expect(launched).toHaveProperty('id.name');
  const nodes = `${api(sandbox)}/node_executions/flytesnacks/development/${launched.id.name}?limit=1000`;
  await until(
    async () => ((await get(nodes))['nodeExecutions'] ?? []) as readonly Node[],
    (found) => areAsWanted(found),
  );
};

/** Runs the commands that the sandbox prints, until their answer says that the sample has succeeded. */
const untilSampleSucceeded = async (sandbox: Running): Promise<void> => {
  const [getToken = ''] = /^ {2}TOKEN=.*$/mu.exec(sandbox.stdout()) ?? [];
  const [readOne = ''] = /^ {2}curl .*churn-v1$/mu.exec(sandbox.stdout()) ?? [];
  await until(
    async () => (await start('sh', ['-c', `${getToken}\n${readOne}`]).ended).stdout,
    (text) => text.includes('"SUCCEEDED"'),
  );
};

/** The number of elements that a list, such as `tasks`, has. */
const countOf = async (sandbox: Running, collection: string): Promise<number> => {
  const { [collection]: listed } = await get(`${api(sandbox)}/${collection}/flytesnacks/development?limit=1000`);
  return (listed as unknown[]).length;
};

type WithExample = {
  readonly requestBody: { readonly content: Readonly<Record<string, { readonly example: object }>> };
};

/** Sends the example of a launch in `/openapi.json`, and returns the answer. */
const launchExample = async (sandbox: Running): Promise<unknown> => {
  const { paths } = (await get(new URL('/openapi.json', api(sandbox)).href)) as {
    readonly paths: Readonly<Record<string, { readonly post: WithExample }>>;
  };
  const example = paths['/api/v1/executions']?.post.requestBody.content['application/json']?.example;
  const answer = await fetch(`${api(sandbox)}/executions`, { method: 'POST', body: JSON.stringify(example) });
  return answer.json();
};

describe('the sandbox', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  it('registers samples in an empty log, launches one, runs it to its end, and stops cleanly', async () => {
    const sandbox = await startSandbox();
    expect(sandbox.stdout()).toContain(`  data  ${data}\n`);
    expect(sandbox.stdout()).toMatch(/^Registered \d+ sample .* launched flytesnacks\/development\/churn-v1\.$/mu);
    const [command = ''] = /^ {2}node .* log cat .*$/mu.exec(sandbox.stdout()) ?? [];
    expect(command).toContain(`log cat --data '${data}' --execution`);
    await until(
      () => phaseOf(sandbox),
      (phase) => phase === 'SUCCEEDED',
    );
    // In another folder, where relative paths would fail.
    const { code: catCode, stdout: events } = await start('sh', ['-c', command], { cwd: tmpdir() }).ended;
    expect({ catCode, isPrinted: events.includes('"ExecutionCreated"') }).toEqual({ catCode: 0, isPrinted: true });
    sandbox.child.kill('SIGINT');
    const { code, stdout, stderr } = await sandbox.ended;
    expect(stdout).toMatch(/Stopped\. The data is kept\.\n$/u);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('keeps executions and tasks for its next start, which registers none, and launches the documented example', async () => {
    const sandbox = await startSandbox();
    expect(sandbox.stdout()).toContain('\nFound 1 execution; nothing was registered again.\n');
    expect(sandbox.stdout()).not.toContain('Registered');
    expect(await phaseOf(sandbox)).toBe('SUCCEEDED');
    expect(await launchExample(sandbox)).toHaveProperty('id.project', 'flytesnacks');
    const tasks = await countOf(sandbox, 'tasks');
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.ended).toMatchObject({ code: 0, stderr: '' });

    const again = await startSandbox();
    expect(await countOf(again, 'tasks')).toBe(tasks);
    again.child.kill('SIGINT');
    expect((await again.ended).code).toBe(0);
  });

  it.each(['before', 'after'])(
    'registers the remaining samples when a run was stopped %s its first sample',
    async (when) => {
      const own = join(folder, `stopped ${when}`);
      const ports = ['--data', own, '--grpc-port', '0', '--http-port', '0'];
      // Begins the log as a sandbox does.
      const server = flightlog(['serve', '--insecure', ...ports], { env: { FLIGHTLOG_PROJECTS: '[flytesnacks]' } });
      await server.said('\n');
      const { http } = JSON.parse(server.stdout()) as { readonly http: string };
      const body = fixtureFolder('01-hello').entries.find(({ kind }) => kind === 'task')!.bytes;
      const headers = { 'content-type': 'application/octet-stream' };
      if (when === 'after')
        expect((await fetch(`${http}/api/v1/tasks`, { method: 'POST', headers, body })).status).toBe(200);
      server.child.kill('SIGINT');
      await server.ended;

      const sandbox = flightlog(['sandbox', '--engine-rate', '0', ...ports]);
      await sandbox.said('Ctrl-C stops.');
      expect(sandbox.stdout()).toMatch(/^Registered \d+ sample/mu);
      await untilSampleSucceeded(sandbox);
      sandbox.child.kill('SIGINT');
      expect((await sandbox.ended).code).toBe(0);
    },
  );

  it('with authentication prints a password, which it does not store, and runs its samples with tokens', async () => {
    const own = join(folder, 'with authentication');
    const sandbox = flightlog(
      ['sandbox', '--auth', '--data', own, '--grpc-port', '0', '--http-port', '0', '--engine-rate', '0'],
      {},
    );
    await sandbox.said('Ctrl-C stops.');
    const [, password = ''] = /as admin with the password (\S+),/u.exec(sandbox.stdout()) ?? [];
    expect(password).toMatch(/^[\w-]{16}$/u);
    expect((await fetch(`${api(sandbox)}/projects`)).status).toBe(401);
    await untilSampleSucceeded(sandbox);
    sandbox.child.kill('SIGINT');
    expect((await sandbox.ended).code).toBe(0);
    expect((await start('sh', ['-c', `grep -rl -- ${password} '${own}'`]).ended).stdout).toBe('');
    // Only an engine that has joined the engine feed gets leases, here with its token.
    expect((await flightlog(['log', 'cat', '--data', own]).ended).stdout).toContain('WorkLeased');
  });

  it('with TLS registers its samples and runs them, and does not start with tls.client_ca_file', async () => {
    const certificateFiles = certificates();
    certificateFiles.authority('authority');
    certificateFiles.issue('authority', 'server');
    const own = join(folder, 'with TLS');
    const args = ['sandbox', '--auth', '--data', own, '--grpc-port', '0', '--http-port', '0', '--engine-rate', '0'];
    const env = {
      FLIGHTLOG_TLS_CERT_FILE: certificateFiles.file('server.pem'),
      FLIGHTLOG_TLS_KEY_FILE: certificateFiles.file('server.key'),
    };
    const sandbox = flightlog(args, { env });
    await sandbox.said('Ctrl-C stops.');
    expect(sandbox.stdout()).toMatch(/^Registered \d+ sample/mu);
    await untilSampleSucceeded(sandbox);
    sandbox.child.kill('SIGINT');
    expect((await sandbox.ended).code).toBe(0);

    const withClientCa = { ...env, FLIGHTLOG_TLS_CLIENT_CA_FILE: certificateFiles.file('authority.pem') };
    const refused = await flightlog(args, { env: withClientCa }).ended;
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('leave out tls.client_ca_file') as string,
    });
    certificateFiles.remove();
  });

  it('says that port 2113 is in use, and does not serve the log there', async () => {
    const occupant = createServer().listen(2113, '127.0.0.1');
    await once(occupant, 'listening').catch(() => undefined); // the port is in use either way
    const sandbox = await startSandbox();
    expect(sandbox.stdout()).toMatch(/^ {2}log {3}not served: port 2113 is in use; --eventstore-port names another$/mu);
    sandbox.child.kill('SIGINT');
    expect(await sandbox.ended).toMatchObject({ code: 0, stderr: '' });
    occupant.close();
  });

  it('runs a dynamic sample, and has flags for tasks that fail and gates that wait', async () => {
    const inPhase = (nodes: readonly Node[], phase: string): number =>
      nodes.filter(({ closure }) => closure.phase === phase).length;
    const failing = await startSandbox('--failure-probability', '1');
    await launchAndWait(failing, { name: 'dynamics.plan_at_run_time' }, (nodes) =>
      nodes.some(({ metadata }) => metadata.isDynamic),
    );
    await launchAndWait(failing, { name: 'failures.both' }, (nodes) => inPhase(nodes, 'FAILED') > 0);
    failing.child.kill('SIGINT');
    expect((await failing.ended).code).toBe(0);

    const waiting = await startSandbox('--gates', 'wait');
    const topic = { scalar: { primitive: { string_value: 'tides' } } };
    await launchAndWait(
      waiting,
      { name: 'gates.editorial', inputs: { literals: { topic } } },
      (nodes) => inPhase(nodes, 'SUCCEEDED') > 0 && inPhase(nodes, 'RUNNING') === 4, // its gates
    );
    waiting.child.kill('SIGINT');
    expect((await waiting.ended).code).toBe(0);
  });

  it('waits for requests that are still arriving when it is stopped, and ends at once at a second signal', async () => {
    const sandbox = await startSandbox();
    const { hostname, port } = new URL(api(sandbox));
    const sending = connect(Number(port), hostname);
    await once(sending, 'connect');
    sending.on('error', () => undefined);
    sending.write('POST /api/v1/projects HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{');
    await phaseOf(sandbox); // the server has accepted the earlier connection
    sandbox.child.kill('SIGINT');
    await sandbox.said('Ctrl-C again ends at once');
    sandbox.child.kill('SIGINT');
    expect((await sandbox.ended).signal).toBe('SIGINT');
    sending.destroy();
  });
});
