import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  LaunchPlanCreateRequestSchema,
  LaunchPlanSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema, TaskSpecSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowCreateRequestSchema, WorkflowSpecSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { openBrowser } from '../../support/browser/browser.js';
import { type Ended, flightlog, freePort, type Running, start } from '../../support/processes/command.js';
import { type ControlPlane, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes } from '../../support/requests/fixtures.js';
import { type ServerProcess, startServerProcess } from '../../support/processes/server-process.js';
import { until } from '../../support/until.js';

/**
 * The binary of flytectl, such as the one that the script `environment` builds; without it, these tests are skipped.
 */
const flytectl = process.env['FLIGHTLOG_TEST_FLYTECTL'];
const LIMIT_MS = 120_000;
const ALICE = { name: 'alice', password: 'password-of-alice' };
/** The flags that name the project and the domain. */
const SCOPE = ['--project', 'flytesnacks', '--domain', 'development'];

type Commands = {
  /** The folder in which the commands run, which is their home as well. */
  readonly folder: string;
  readonly start: (...args: readonly string[]) => Running;
  readonly run: (...args: readonly string[]) => Promise<Ended>;
  /** Runs a command that must succeed, and reads its output as JSON. */
  readonly json: (...args: readonly string[]) => Promise<unknown>;
};

/** Commands of flytectl with a configuration of their own; `xdg-open` writes the address down instead of opening it. */
const commandsFor = (endpoint: string, authType?: string): Commands => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-flytectl-'));
  const config = join(folder, 'config.yaml');
  const admin = { endpoint: `dns:///${endpoint}`, insecure: true, ...(authType !== undefined && { authType }) };
  writeFileSync(config, JSON.stringify({ admin, logger: { level: 1 } }));
  writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" >${folder}/opened\n`, { mode: 0o755 });
  const env = { HOME: folder, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  const startIt = (...args: readonly string[]): Running =>
    start(flytectl!, ['--config', config, ...args], { cwd: folder, env });
  const run = (...args: readonly string[]): Promise<Ended> => startIt(...args).ended;
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await run(...args, '-o', 'json');
    if (code !== 0) throw new Error(`flytectl ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout);
  };
  return { folder, start: startIt, run, json };
};

/** Writes the recorded registrations of `01-hello` as `pyflyte package` does. */
const writePackage = (folder: string): readonly string[] => {
  const recorded = (name: string): Uint8Array => fixtureBytes(`01-hello/${name}.create_request.pb`);
  const task = fromBinary(TaskCreateRequestSchema, recorded('001-task')).spec!;
  const workflow = fromBinary(WorkflowCreateRequestSchema, recorded('002-workflow')).spec!;
  const { id, spec } = fromBinary(LaunchPlanCreateRequestSchema, recorded('003-launch_plan'));
  const plan = create(LaunchPlanSchema, { ...(id && { id }), ...(spec && { spec }) });
  const files = {
    '0_hello.greet_1.pb': toBinary(TaskSpecSchema, task),
    '1_hello.hello_2.pb': toBinary(WorkflowSpecSchema, workflow),
    '2_hello.hello_3.pb': toBinary(LaunchPlanSchema, plan),
  };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  return Object.keys(files);
};

// The tests follow one another: the second launches `first`, `second` and `third`, and terminates `third`.
describe.skipIf(flytectl === undefined)('flytectl', { timeout: LIMIT_MS }, () => {
  let plane: ControlPlane;
  let commands: Commands;
  let files: readonly string[];

  beforeAll(async () => {
    plane = await startControlPlane();
    commands = commandsFor(plane.server().ready.grpc);
    files = writePackage(commands.folder);
    const { code, stdout } = await commands.run('register', 'files', ...files, ...SCOPE);
    if (code !== 0) throw new Error(`registering has failed: ${stdout}`);
  }, LIMIT_MS);
  afterAll(async () => {
    await plane.close();
    rmSync(commands.folder, { recursive: true });
  });

  /** The names in the output of `flytectl get`. */
  const namesIn = async (...args: readonly string[]): Promise<readonly string[]> => {
    const rows = (await commands.json('get', ...args)) as readonly { readonly id: { readonly name: string } }[];
    return [rows].flat().map(({ id }) => id.name);
  };

  it('succeeds in registering what is registered already', async () => {
    const { code, stdout } = await commands.run('register', 'files', ...files, ...SCOPE);
    expect(code).toBe(0);
    expect(stdout.match(/AlreadyExists/gu)).toHaveLength(3);
  });

  it('launches from a file that it has written, shows nodes with their data, and finds executions', async () => {
    await commands.json('get', 'launchplan', ...SCOPE, 'hello.hello', '--latest', '--execFile', 'hello.yaml');
    for (const name of ['first', 'second', 'third'])
      expect(await commands.run('create', 'execution', ...SCOPE, '--execFile', 'hello.yaml', name)).toMatchObject({
        code: 0,
      });
    expect(await commands.run('create', 'execution', ...SCOPE, '--execFile', 'hello.yaml', 'first')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('code = AlreadyExists') as string,
    });
    expect(await commands.run('delete', 'execution', ...SCOPE, 'third')).toMatchObject({ code: 0 });
    await plane.run();

    expect(await commands.json('get', 'execution', ...SCOPE, 'first')).toMatchObject({
      closure: { phase: 'SUCCEEDED', workflowId: { name: 'hello.hello', version: 'v1' } },
    });
    expect(await commands.json('get', 'execution', ...SCOPE, 'first', '--nodeID', 'n0')).toMatchObject([
      {
        node_exec: { id: { nodeId: 'n0' }, closure: { phase: 'SUCCEEDED' } },
        inputs: { name: 'control plane', times: 1 },
        task_execs: [{ id: { taskId: { name: 'hello.greet' } }, closure: { phase: 'SUCCEEDED' } }],
      },
    ]);
    expect(await namesIn('execution', ...SCOPE, '--filter.fieldSelector', 'phase in (ABORTED;FAILED)')).toEqual([
      'third',
    ]);
    const page = ['--filter.sortBy', 'created_at', '--filter.asc', '--filter.limit', '2', '--filter.page', '2'];
    expect(await namesIn('execution', ...SCOPE, ...page)).toEqual(['third']);
    expect(await commands.run('delete', 'execution', ...SCOPE, 'first')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('code = FailedPrecondition') as string,
    });
  });

  it('relaunches, recovers what was terminated, and archives', async () => {
    await commands.run('create', 'execution', ...SCOPE, '--relaunch', 'first', 'relaunched');
    await commands.run('create', 'execution', ...SCOPE, '--recover', 'third', 'recovered');
    expect(await commands.json('get', 'execution', ...SCOPE, 'relaunched')).toMatchObject({
      spec: { metadata: { mode: 'RELAUNCH', referenceExecution: { name: 'first' } } },
    });
    expect(await commands.json('get', 'execution', ...SCOPE, 'recovered')).toMatchObject({
      spec: { metadata: { mode: 'RECOVERED', referenceExecution: { name: 'third' } } },
    });
    await commands.run('update', 'execution', ...SCOPE, 'second', '--archive', '--force');
    expect(await namesIn('execution', ...SCOPE)).not.toContain('second');
    expect(await namesIn('execution', ...SCOPE, '--filter.fieldSelector', 'state=1')).toEqual(['second']);
  });

  it('activates a launch plan', async () => {
    await commands.run('update', 'launchplan', ...SCOPE, 'hello.hello', '--version', 'v1', '--activate', '--force');
    expect(await namesIn('launchplan', ...SCOPE, '--filter.fieldSelector', 'state=1')).toEqual(['hello.hello']);
  });

  it('creates, changes and archives a project', async () => {
    await commands.run('create', 'project', '--id', 'parcels', '--name', 'Parcels', '--labels', 'team=a');
    await commands.run('update', 'project', '--id', 'parcels', '--description', 'by post', '--archive', '--force');
    expect(await commands.json('get', 'project', '--filter.fieldSelector', 'identifier=parcels')).toMatchObject({
      id: 'parcels',
      name: 'Parcels',
      description: 'by post',
      state: 'ARCHIVED',
    });
    expect(await commands.json('get', 'project')).toMatchObject({ id: 'flytesnacks' });
  });

  it('sets attributes from a file, compares them with those that are set, and deletes them', async () => {
    const place = { project: 'flytesnacks', domain: 'development', workflow: 'hello.hello' };
    const attributes = { defaults: { cpu: '1', memory: '150Mi' }, limits: { cpu: '2', memory: '450Mi' } };
    writeFileSync(join(commands.folder, 'resources.yaml'), JSON.stringify({ ...place, ...attributes }));
    const update = ['update', 'task-resource-attribute', '--attrFile', 'resources.yaml', '--force'];
    expect(await commands.run(...update)).toMatchObject({ code: 0 });
    expect((await commands.run(...update)).stdout).toContain('No changes detected');
    const get = ['get', 'task-resource-attribute', ...SCOPE, 'hello.hello'];
    expect(await commands.json(...get)).toEqual({ ...place, ...attributes });
    await commands.run('delete', 'task-resource-attribute', '--attrFile', 'resources.yaml');
    expect(await commands.run(...get)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('attribute not found') as string,
    });
  });
});

describe.skipIf(flytectl === undefined)('flytectl signs in', { timeout: LIMIT_MS }, () => {
  const data = mkdtempSync(join(tmpdir(), 'flightlog-flytectl-'));
  /** The folders of the commands, to be removed. */
  const folders: string[] = [];
  let server: ServerProcess;

  beforeAll(async () => {
    await flightlog(['user', 'add', 'alice', '--roles', 'viewer', '--data', data], { input: `${ALICE.password}\n` })
      .ended;
    server = await startServerProcess({
      data,
      env: {
        FLIGHTLOG_AUTH_SERVER_ENABLED: 'true',
        FLIGHTLOG_PROJECTS: '[flytesnacks]',
        FLIGHTLOG_AUTH_PUBLIC_CLIENT_REDIRECT_URI: `http://localhost:${await freePort()}/callback`,
      },
    });
  }, LIMIT_MS);
  afterAll(async () => {
    await server.stop();
    for (const folder of [data, ...folders]) rmSync(folder, { recursive: true });
  });

  const commandsWith = (authType: string): Commands => {
    const commands = commandsFor(server.ready.grpc, authType);
    folders.push(commands.folder);
    return commands;
  };

  it('with PKCE', async () => {
    const { folder, start: startIt } = commandsWith('Pkce');
    const command = startIt('get', 'project');
    const opened = join(folder, 'opened');
    await until(() => Promise.resolve(existsSync(opened) && readFileSync(opened, 'utf8')), Boolean);
    const browser = openBrowser();
    const login = await browser.open(readFileSync(opened, 'utf8').trim());
    const consent = await browser.submit(login, '/login', ALICE);
    const { url } = await browser.submit(consent, '/consent');
    // As soon as flytectl has the token it closes its server, at times before the answer is written.
    const status = await fetch(url).then(
      (answer) => answer.status,
      () => 'closed',
    );
    expect([200, 'closed']).toContain(status);
    const { code, stdout } = await command.ended;
    expect(code).toBe(0);
    expect(stdout).toContain('flytesnacks');
  });

  it('with the device flow', async () => {
    const command = commandsWith('DeviceFlow').start('get', 'project');
    const ADDRESS = /(http\S+\/oauth2\/\S+)\s/u;
    await command.said(ADDRESS);
    const browser = openBrowser();
    const form = await browser.open(ADDRESS.exec(command.stdout())?.[1] ?? '');
    const confirm = await browser.submit(form, '/oauth2/device');
    const login = await browser.submit(confirm, '/oauth2/device', { confirm: 'yes' });
    const consent = await browser.submit(login, '/login', ALICE);
    await browser.submit(consent, '/consent');
    const { code, stdout } = await command.ended;
    expect(code).toBe(0);
    expect(stdout).toContain('flytesnacks');
  });
});
