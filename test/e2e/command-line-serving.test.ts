import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CHECKOUT, type Ended, flightlog, type Running, start } from '../support/processes/command.js';
import type { Ready } from '../support/processes/server-process.js';
import { hasTerminal } from '../support/processes/terminal.js';
import { until } from '../support/until.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-serving-'));
const data = join(folder, 'data');
const ANY_PORTS = ['--grpc-port', '0', '--http-port', '0', '--eventstore-port', '0'];

const startServe = async (directory = data): Promise<{ server: Running; ready: Ready }> => {
  const server = flightlog(['serve', '--insecure', '--data', directory, ...ANY_PORTS]);
  await server.said('\n');
  return { server, ready: JSON.parse(server.stdout()) as Ready };
};

const stop = ({ child, ended }: Running): Promise<Ended> => {
  child.kill('SIGTERM');
  return ended;
};

const registerProject = async (http: string, id: string): Promise<void> => {
  const body = JSON.stringify({ project: { id, name: `the ${id}` } });
  const headers = { 'content-type': 'application/json' };
  const { status } = await fetch(`${http}/api/v1/projects`, { method: 'POST', headers, body });
  expect(status).toBe(200);
};

type Line = { readonly position: number; readonly stream: string; readonly data: unknown };

const cat = async (...args: readonly string[]): Promise<readonly Line[]> => {
  const { code, stdout, stderr } = await flightlog(['log', 'cat', '--data', data, ...args]).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
};

const streamsOf = (lines: readonly Line[]): readonly string[] => lines.map(({ stream }) => stream);

afterAll(() => rmSync(folder, { recursive: true }));

describe('while a server runs', () => {
  let server: Running;
  let ready: Ready;

  beforeAll(async () => {
    ({ server, ready } = await startServe());
    for (const id of ['one', 'two', 'three']) await registerProject(ready.http, id);
  });
  afterAll(() => stop(server));

  it('its log is the same over the EventStoreDB protocol and in its data directory', async () => {
    const url = `esdb://${ready.eventstore!}?tls=false`;
    const { code, stdout, stderr } = await flightlog(['log', 'cat', '--data', data, '--event-store', url]).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line),
    ).toEqual(await cat());
  });

  it('its stdout is one line of JSON, with its addresses and data directory', () => {
    expect(server.stdout().trim().split('\n')).toHaveLength(1);
    expect(ready).toEqual({
      ready: true,
      roles: ['all'],
      grpc: expect.stringMatching(/^127\.0\.0\.1:\d+$/u) as string,
      http: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/u) as string,
      eventstore: expect.stringMatching(/^127\.0\.0\.1:\d+$/u) as string,
      data,
      logId: expect.stringMatching(/^[\w-]{36}$/u) as string,
      executions: 0,
    });
  });

  it.each(['serve --insecure', 'sandbox', 'views rebuild'])(
    'no other process may write to its data directory: %s',
    async (command) => {
      const ports = command === 'views rebuild' ? [] : ANY_PORTS;
      expect(await flightlog([...command.split(' '), '--data', data, ...ports]).ended).toEqual({
        code: 1,
        stdout: '',
        stderr: `flightlog: data: data directory ${data} is in use by process ${server.child.pid}\n`,
      });
    },
  );

  it('the log can be read: whole, from a position on, up to a number of events', async () => {
    const lines = await cat();
    expect(streamsOf(lines)).toEqual(['log-format', 'project-one', 'project-two', 'project-three']);
    expect(lines[2]).toEqual({
      position: 3,
      stream: 'project-two',
      revision: 0,
      type: 'ProjectRegistered',
      id: expect.stringMatching(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u) as string,
      schema: 1,
      recordedAt: expect.stringMatching(/^\d{4}-.*Z$/u) as string,
      actor: '',
      commandId: expect.stringMatching(/./u) as string,
      correlationId: expect.any(String) as string,
      causationId: '',
      traceparent: '',
      data: { project: { id: 'two', name: 'the two', state: 'ACTIVE' } },
    });
    expect(streamsOf(await cat('--from', '3'))).toEqual(['project-two', 'project-three']);
    expect(streamsOf(await cat('--from', '3', '--limit', '1'))).toEqual(['project-two']);
    expect(await cat('--limit', '0')).toEqual([]);
  });

  it('one stream can be read; the error for a stream without events names the stream', async () => {
    expect(streamsOf(await cat('--stream', 'project-two'))).toEqual(['project-two']);
    expect(await cat('--stream', 'project-two', '--from', '4')).toEqual([]);
    const { code, stderr } = await flightlog(['log', 'cat', '--data', data, '--execution', 'p/d/n']).ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'flightlog: stream execution-p:d:n has no events\n' });
  });

  it('the log can be read in part: by type, project and time, and from its end', async () => {
    const read = async (...flags: readonly string[]) => streamsOf(await cat(...flags));
    expect(await read('--tail', '2')).toEqual(['project-two', 'project-three']);
    expect(await read('--tail', '0')).toEqual([]);
    expect(await read('--tail', '9', '--from', '3')).toEqual(['project-two', 'project-three']);
    expect(await read('--tail', '3', '--limit', '1')).toEqual(['project-one']);
    expect(await read('--project', 'two')).toEqual(['project-two']);
    expect(await read('--type', 'LogFormatSet', '--type', 'SlotTaken,TaskRegistered')).toEqual(['log-format']);
    expect(await read('--type', 'ProjectRegistered', '--tail', '1')).toEqual(['project-three']);
    expect(await read('--stream', 'project-two', '--tail', '1')).toEqual(['project-two']);
    expect(await read('--since', '1h', '--project', 'one')).toEqual(['project-one']);
    expect(await read('--since', '2999-01-01')).toEqual([]);
    expect(await read('--from', 'end')).toEqual([]);
    const [, second] = await cat('--since', '2001-01-01T00:00:00Z');
    expect(second).toMatchObject({ stream: 'project-one' });
  });

  it('the log can be read in part over the EventStoreDB protocol, too', async () => {
    const url = `esdb://${ready.eventstore!}?tls=false`;
    const read = async (...flags: readonly string[]) => streamsOf(await cat('--event-store', url, ...flags));
    expect(await read('--tail', '3', '--limit', '1')).toEqual(['project-one']);
    expect(await read('--type', 'LogFormatSet', '--type', 'SlotTaken,TaskRegistered')).toEqual(['log-format']);
    expect(await read('--stream', 'project-two', '--tail', '1')).toEqual(['project-two']);
    expect(await read('--since', '1h', '--project', 'one')).toEqual(['project-one']);
    expect(await read('--from', 'end')).toEqual([]);
  });

  it('a type that is unknown is noted on standard error, with the nearest one; the log is printed as selected', async () => {
    const types = 'ProjectRegisterd,ProjectRegistered';
    const { code, stdout, stderr } = await flightlog(['log', 'cat', '--data', data, '--type', types]).ended;
    expect(stdout.trim().split('\n')).toHaveLength(3);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'flightlog: this release records no events of type ProjectRegisterd; did you mean ProjectRegistered?\n',
    });
  });

  it.each([
    ['--since', 'yesterday', 'It must be a time such as 2026-03-02T09:58:16Z, or how long ago, such as 15m.'],
    ['--tail', 'two', 'It must be a whole number.'],
    ['--from', 'last', 'It must be a position, a whole number, or end.'],
    ['--type', 'A,,B', 'It must be a name, or several with commas between them.'],
  ])(
    'a value that a flag does not take is refused, with the values that it takes: %s %s',
    async (flag, value, text) => {
      const { code, stderr } = await flightlog(['log', 'cat', '--data', data, flag, value]).ended;
      expect(code).toBe(1);
      expect(stderr).toContain(`option '${flag} <`);
      expect(stderr).toContain(text);
    },
  );

  it('the log can be followed: events are printed as they are recorded', async () => {
    const following = flightlog(['log', 'cat', '--data', data, '--follow', '--from', '4']);
    const future = flightlog(['log', 'cat', '--data', data, '--follow', '--stream', 'project-five', '--limit', '1']);
    const last = flightlog(['log', 'cat', '--data', data, '--follow', '--tail', '1', '--limit', '2']);
    await last.said('project-three');
    await following.said('project-three');
    await registerProject(ready.http, 'four');
    await following.said('project-four');
    expect((await last.ended).stdout).toMatch(/project-three.*\n.*project-four.*\n$/u);
    expect(following.stdout()).not.toContain('project-two');
    await registerProject(ready.http, 'five');
    expect((await future.ended).stdout).toContain('project-five');
    following.child.kill('SIGINT');
    expect((await following.ended).code).toBe(0);
  });

  it('log cat that follows the log ends with 0, and without an error, when the reader of its output has left', async () => {
    const command = `{ sleep 1; node flightlog.js log cat --data '${data}' --follow; echo $? >&2; } | true`;
    expect((await start('sh', ['-c', command], { cwd: CHECKOUT }).ended).stderr).toBe('0\n');
  });

  it.skipIf(!existsSync('/dev/full'))('log cat reports a log that cannot be written whole', async () => {
    const command = `node flightlog.js log cat --data '${data}' > /dev/full`;
    const { code, stderr } = await start('sh', ['-c', command], { cwd: CHECKOUT }).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^flightlog: standard output cannot be written: ENOSPC[^\n]*\n$/u);
  });
});

describe('a server that is stopped', () => {
  it('takes no new calls, answers those in flight, and exits with 0', async () => {
    const { server, ready } = await startServe();
    const body = JSON.stringify({ project: { id: 'late', name: 'late' } });
    const { hostname, port } = new URL(ready.http);
    const sending = connect(Number(port), hostname);
    let answer = '';
    sending.setEncoding('utf8').on('data', (text: string) => (answer += text));
    const head = `POST /api/v1/projects HTTP/1.1\r\nhost: x\r\ncontent-type: application/json`;
    sending.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    await fetch(`${ready.http}/healthcheck`); // after this, the server has accepted the earlier connection
    server.child.kill('SIGTERM');
    await until(
      () => Promise.resolve(server.stderr()),
      (log) => log.includes('"msg":"stopping"'),
    );
    await until(
      () =>
        fetch(`${ready.http}/healthcheck`).then(
          () => 'taken',
          () => 'refused',
        ),
      (outcome) => outcome === 'refused',
    );
    sending.write(body.slice(5));
    expect((await server.ended).code).toBe(0);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /u);
    expect(streamsOf(await cat()).at(-1)).toBe('project-late');
  });
});

describe('a server that is started on a terminal', () => {
  const startOnTerminal = (...flags: readonly string[]): Running => {
    const serving = ['serve', '--insecure', '--data', join(folder, `terminal${flags.length}`), ...ANY_PORTS, ...flags];
    const command = [process.execPath, join(CHECKOUT, 'flightlog.js'), ...serving].join(' ');
    return start('script', ['-qec', command, '/dev/null']);
  };

  it.skipIf(!hasTerminal)('prints its addresses and how to stop it, for people', async () => {
    const server = startOnTerminal();
    await server.said('Ctrl-C stops.');
    expect(server.stdout()).toMatch(/^ {2}docs {2}http:\/\/127\.0\.0\.1:\d+\/openapi\r$/mu);
    expect(server.stdout()).not.toContain('"ready"');
    await stop(server);
  });

  it.skipIf(!hasTerminal)('prints one line of JSON with --json', async () => {
    const server = startOnTerminal('--json');
    await server.said(/^\{"ready":true,.*\}\r$/mu);
    expect(server.stdout()).not.toContain('Ctrl-C');
    await stop(server);
  });
});

describe('views', () => {
  it('are rebuilt while no server runs, with one line of JSON and, without a terminal, no progress bar', async () => {
    const { code, stdout, stderr } = await flightlog(['views', 'rebuild', '--data', data]).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // The events: the format of the log, and the six projects that the tests above have registered.
    expect(JSON.parse(stdout)).toMatchObject({ position: 7, events: 7, verifiedStreams: 7 });
    const { server, ready } = await startServe();
    const { projects } = (await (await fetch(`${ready.http}/api/v1/projects`)).json()) as { projects: unknown[] };
    expect(projects).toHaveLength(6);
    expect((await stop(server)).code).toBe(0);
  });

  it('that fail permanently end the server with the reason; the next one folds them from the log again', async () => {
    const { server, ready } = await startServe();
    const views = new DatabaseSync(join(data, 'views.db'));
    views.exec('UPDATE checkpoints SET position = position + 1000');
    views.close();
    // The project is recorded; the answer may or may not come before the process ends.
    await registerProject(ready.http, 'seven').catch(() => undefined);
    const { code, stderr } = await server.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /flightlog: stopped by a failure: the views have failed: another process has moved the checkpoint/u,
    );
    const next = await startServe();
    const { projects } = (await (await fetch(`${next.ready.http}/api/v1/projects`)).json()) as { projects: unknown[] };
    expect(projects).toHaveLength(7);
    expect((await stop(next.server)).code).toBe(0);
  });
});

describe('an engine', () => {
  it('logs that no server answers, and goes on until it is stopped', async () => {
    // Nothing listens on port 9.
    const engine = flightlog(['engine', '--endpoint', '127.0.0.1:9', '--until-idle']);
    await until(
      () => Promise.resolve(engine.stderr()),
      (log) => log.includes('no control plane answers yet'),
    );
    const { code, stdout } = await stop(engine);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ endedBecause: 'stopped', events: { sent: 0 } });
  });

  it('ends by itself when nothing is left to run, with --until-idle', async () => {
    const { server, ready } = await startServe();
    const { code, stdout } = await flightlog(['engine', '--endpoint', ready.grpc, '--until-idle']).ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ endedBecause: 'idle', held: [], dropped: {} });
    await stop(server);
  });
});
