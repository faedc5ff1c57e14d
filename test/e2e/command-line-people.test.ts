import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';

import { type Ended, flightlog, type Running } from '../support/processes/command.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { hasTerminal, onTerminal, screenOf } from '../support/processes/terminal.js';
import { until } from '../support/until.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-people-'));

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello', '08-gates'));
});
afterAll(async () => {
  await plane.close();
  rmSync(folder, { recursive: true });
});

/** Exit codes of commands that follow an execution. */
const FAILED = 3;
const ABORTED = 4;

/** Starts a command on the server. */
const startCommand = (...args: readonly string[]): Running =>
  flightlog(args, { env: { FLIGHTLOG_SERVER: plane.server().ready.http } });

/** Runs a command on a terminal where `input` is typed. */
const inTerminal = (args: readonly string[], size: { columns: number; rows: number }, input = ''): Running =>
  onTerminal(args, size, { input, env: { FLIGHTLOG_SERVER: plane.server().ready.http } });

/** The documents of a command that prints one in each line. */
const documentsIn = (stdout: string): readonly Record<string, unknown>[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Runs a command on the server to its end. */
const runCommand = (...args: readonly string[]): Promise<Ended> => startCommand(...args).ended;

/** Starts a command that follows an execution, runs the engine, and waits for the end of the command. */
const withEngine = async (failureProbability: number, ...args: readonly string[]): Promise<Ended> => {
  const command = startCommand(...args);
  await command.said('QUEUED');
  await plane.run({ failureProbability });
  return command.ended;
};

describe('a first-time user', () => {
  it('finds a launch plan, sees its inputs, launches it, and reads its output', async () => {
    expect((await runCommand('list', 'launch-plans', '-o', 'name')).stdout).toContain('hello.hello v1\n');
    expect((await runCommand('get', 'launch-plan', 'hello.hello')).stdout).toMatch(/^name +text +no /mu);
    const args = ['launch', 'launch-plan', 'hello.hello', '--input', 'name=Ada', '--name', 'first', '--wait'];
    const { code, stdout } = await withEngine(0, ...args);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `${plane.server().ready.http}/console/projects/flytesnacks/domains/development/executions/first\n`,
    );
    expect(stdout).toMatch(/first +SUCCEEDED\n$/u);
    expect((await runCommand('get', 'execution', 'first', '--values', '-o', 'yaml')).stdout).toMatch(
      /name: Ada\n(?:.|\n)*outputs:\n +o0: /u,
    );
  });

  it('gets a line for every wrong input, with its name', async () => {
    const args = ['launch', 'launch-plan', 'hello.hello', '--input', 'times=many', '--input', 'nmae=Ada'];
    expect(await runCommand(...args)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'flightlog: input nmae: there is no such input, or its value is fixed; those that can be given are name, times\n' +
        'flightlog: input times (integer): write a whole number\n',
    });
  });

  it('can use the configuration file of flytectl, over gRPC, and is warned of an unused setting', async () => {
    const file = join(folder, 'config.yaml');
    const admin = `{ endpoint: 'dns:///${plane.server().ready.grpc}', insecure: true, authType: Pkce, defaultOrg: acme }`;
    writeFileSync(file, `admin: ${admin}\nlogger: { level: 0 }\n`);
    const env = { FLYTECTL_CONFIG: file };
    expect(await flightlog(['get', 'execution', 'first', '-o', 'name'], { env }).ended).toMatchObject({
      stdout: 'first\n',
      stderr: `flightlog: ${file}: not used: admin.defaultOrg\n`,
    });
  });

  it('lists the names of domains', async () => {
    expect((await runCommand('list', 'domains', '-o', 'name')).stdout).toBe('development\nstaging\nproduction\n');
  });
});

describe('an engineer on call', () => {
  it('follows an execution that fails, finds it by a filter, recovers and relaunches it', async () => {
    await runCommand('launch', 'launch-plan', 'hello.hello', '--name', 'broken');
    expect((await withEngine(1, 'watch', 'execution', 'broken')).code).toBe(FAILED);
    expect((await runCommand('list', 'executions', '--filter', 'eq(phase,FAILED)', '-o', 'name')).stdout).toBe(
      'broken\n',
    );
    const recover = ['recover', 'execution', 'broken', '--name', 'recovered', '--wait', '-o', 'json'];
    const recovered = await withEngine(0, ...recover);
    expect(recovered.code).toBe(0);
    const [created, state, ...changes] = documentsIn(recovered.stdout);
    expect(created).toMatchObject({ id: { name: 'recovered' } });
    expect([state, changes.at(-1)]).toMatchObject([{ kind: 'STATE' }, { kind: 'END' }]);
    await runCommand('relaunch', 'execution', 'broken', '--input', 'name=Grace', '--name', 'again');
    const { stdout } = await runCommand('get', 'execution', 'again', '--values', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ inputs: { name: 'Grace', times: 1 } });
  });

  it.skipIf(!hasTerminal)('is asked on a terminal before an execution is terminated, and can decline', async () => {
    const terminate = ['terminate', 'execution', 'again', '--cause', 'why'];
    const { code, stdout } = await inTerminal(terminate, { columns: 80, rows: 24 }, 'n\n').ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(/Terminate flytesnacks\/development\/again\? .* \[y\/N\]/u);
    expect(stdout).toContain('again was not terminated');
  });

  it('terminates an execution with a cause, which is required', async () => {
    const terminate = ['terminate', 'execution', 'again', '--cause', 'wrong input', '--yes'];
    expect(await runCommand(...terminate)).toMatchObject({
      code: 0,
      stdout: 'terminating flytesnacks/development/again\n',
    });
    expect((await runCommand('terminate', 'execution', 'again')).stderr).toMatch(/required option '--cause <text>'/u);
    expect((await runCommand('history', 'again')).stdout).toContain('wrong input');
  });

  it('gets each change of an execution as a document, until the execution has ended', async () => {
    await runCommand('launch', 'launch-plan', 'hello.hello', '--name', 'read', '--label', 'for=program');
    const yaml = startCommand('watch', 'execution', 'read', '-o', 'yaml');
    const list = startCommand('watch', 'executions', '--label', 'for=program', '-o', 'json');
    onTestFinished(() => void list.child.kill());
    const unreadable = startCommand('watch', 'execution', 'read', '-o', 'json');
    const named = startCommand('relaunch', 'execution', 'broken', '--name', 'named', '--wait', '-o', 'name');
    await Promise.all([...[yaml, list, unreadable].map((each) => each.said('QUEUED')), named.said('named')]);
    unreadable.child.stdout!.destroy();
    const cutOff = startCommand('history', 'broken');
    cutOff.child.stdout!.destroy();
    expect(await cutOff.ended).toMatchObject({ code: 0, stderr: '' });
    const json = await withEngine(1, 'watch', 'execution', 'read', '-o', 'json');
    expect(json).toMatchObject({ code: FAILED, stderr: '' });
    const [state, ...changes] = documentsIn(json.stdout);
    expect(state).toMatchObject({ kind: 'STATE', executions: [{ closure: { phase: 'QUEUED' } }] });
    expect(changes).toContainEqual(expect.objectContaining({ kind: 'CHANGE', type: 'NodePhaseReported' }));
    expect(changes.at(-1)).toMatchObject({ kind: 'END', executions: [] });
    const { code, stdout } = await yaml.ended;
    expect(code).toBe(FAILED);
    expect(parseAllDocuments(stdout).map((each) => each.toJS() as unknown)).toEqual([expect.anything(), ...changes]);
    expect(await named.ended).toMatchObject({ code: FAILED, stdout: 'named\n' });
    expect(await unreadable.ended).toMatchObject({ code: 1, stderr: '' });
    await list.said(/"phase":"FAILED".*\n$/u);
    const failed = { id: { name: 'read' }, closure: { phase: 'FAILED' } };
    expect(documentsIn(list.stdout()).at(-1)).toMatchObject({ kind: 'CHANGE', executions: [failed] });
  });

  it('gets the names of nodes and executions that change, until the execution has ended', async () => {
    await runCommand('launch', 'launch-plan', 'hello.hello', '--name', 'names', '--label', 'for=names');
    const list = startCommand('watch', 'executions', '--label', 'for=names', '-o', 'name');
    onTestFinished(() => void list.child.kill());
    await list.said('names\n');
    const nodes = startCommand('watch', 'execution', 'names', '-o', 'name');
    await plane.run();
    const { code, stdout } = await nodes.ended;
    expect(code).toBe(0);
    expect(new Set(stdout.trimEnd().split('\n'))).toEqual(new Set(['start-node', 'n0', 'end-node']));
    await list.said(/^(?:names\n){2,}$/u);
  });

  it('learns that the execution of a signal does not exist', async () => {
    const missing = /^flightlog: NOT_FOUND: missing entity of type execution [^\n]*name:"nope"[^\n]*\n$/u;
    for (const rest of [[], ['approved', '--value', 'true']]) {
      const { code, stdout, stderr } = await runCommand('signal', 'execution', 'nope', ...rest);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(missing);
    }
  });

  it('gets one line with code, reason and what to do from a refusal', async () => {
    const { code, stderr } = await runCommand('get', 'execution', 'missing');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^flightlog: NOT_FOUND: .*missing.*; the list commands print .*\n$/u);
  });
});

describe('a person for whose signals an execution waits', () => {
  const stop = new AbortController();
  let engine: Promise<unknown>;
  beforeAll(async () => {
    await runCommand('launch', 'launch-plan', 'gates.editorial', '--name', 'editorial');
    engine = plane.run({ gates: 'wait', untilIdle: false }, stop.signal);
  });
  afterAll(async () => {
    stop.abort();
    await engine;
  });

  const signal = (id: string, value: string): Promise<Ended> =>
    runCommand('signal', 'execution', 'editorial', id, '--value', value);

  it('finds the signals, and sets each to a value of its type', async () => {
    const waiting = () => runCommand('signal', 'execution', 'editorial', '-o', 'name');
    await until(waiting, ({ stdout }) => ['title', 'copies', 'really'].every((id) => stdout.includes(`${id}\n`)));
    expect((await signal('copies', 'many')).stderr).toBe('flightlog: signal copies (integer): write a whole number\n');
    expect((await signal('price', '7')).stderr).toMatch(/editorial waits for no signal price; it has .*copies/u);
    expect((await signal('title', 'true')).stdout).toBe('title is "true"\n');
    expect((await signal('copies', '7')).stdout).toBe('copies is 7\n');
    expect((await signal('really', 'true')).stdout).toBe('really is true\n');
    expect((await runCommand('signal', 'execution', 'editorial')).stdout).toMatch(/^copies +integer +7$/mu);
  });

  it.skipIf(!hasTerminal)('sees the nodes that fit on a small terminal, and the number of the others', async () => {
    const size = { columns: 30, rows: 4 };
    const watch = inTerminal(['watch', 'execution', 'editorial'], size);
    await watch.said('… ');
    await runCommand('terminate', 'execution', 'editorial', '--cause', 'late', '--yes');
    const { code, stdout } = await watch.ended;
    expect(code).toBe(ABORTED);
    const screen = screenOf(stdout, size);
    expect(screen).toHaveLength(size.rows - 1);
    expect(screen[0]).toMatch(/^editorial +■ ABORTED/u);
    expect(screen.at(-1)).toMatch(/^… \d more$/u);
  });
});
