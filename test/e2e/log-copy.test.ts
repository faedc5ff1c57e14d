import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { flightlog } from '../support/processes/command.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { logDirectory } from '../support/processes/test-log.js';

const FREE_PORTS = ['--http-port', '0', '--eventstore-port', '0'];

const run = (args: readonly string[]) => flightlog(args).ended;

const copyArgs = (from: string, to: string): readonly string[] => ['log', 'copy', '--from', from, '--to', to];

const copy = (from: string, to: string) => run(copyArgs(from, to));

/** Copies until the process kills itself, at one of the commits or appends that it makes. */
const copyKilled = async (from: string, to: string, failPoint: string): Promise<void> => {
  const copying = flightlog(copyArgs(from, to), { env: { FLIGHTLOG_FAIL_POINT: failPoint } });
  await copying.ended;
  expect(copying.child.signalCode).toBe('SIGKILL');
};

/** The events of a log as lines, without the one of its id. */
const contents = async (log: EventLog): Promise<string[]> => {
  const found: string[] = [];
  for await (const { events } of log.readLog({ after: 0n }))
    for (const { stream, revision, id, type, metadata, data } of events)
      if (stream !== 'flightlog-identity')
        found.push(
          [stream, revision, Buffer.from(id).toString('hex'), type, metadata, Buffer.from(data).toString('hex')].join(),
        );
  return found;
};

/** The id and the events of a log. */
const reading = async (directory: string): Promise<{ logId: string; events: string[] }> => {
  const log = await sqliteLogReader({ directory });
  try {
    return { logId: log.logId, events: await contents(log) };
  } finally {
    await log.close();
  }
};

const metadata = JSON.stringify({ recordedAtMs: 1, actor: '', commandId: '', schema: 1 });

const ID_BYTES = 16;

/** An event with data of this size; the same number makes the same event. */
const numbered = (n: number, dataBytes: number) => ({
  id: Buffer.from(n.toString(16).padStart(2 * ID_BYTES, '0'), 'hex'),
  type: 'Counted',
  data: Buffer.alloc(dataBytes, n),
  metadata,
});

/** Creates a log with `count` events in several streams, and gives its directory. */
const filled = async (directory: string, count: number, dataBytes: (n: number) => number): Promise<string> => {
  mkdirSync(directory);
  const log = await sqliteEventStore({ directory });
  await Promise.all(
    Array.from({ length: count }, (_, n) =>
      log.append(`counted-${n % 500}` as never, 'any', [numbered(n, dataBytes(n))]),
    ),
  );
  await log.close();
  return directory;
};

/** Starts a control plane on the log in its data directory, even where tests run on event stores. */
const serveEmbedded = (data: string): Promise<ServerProcess> =>
  startServerProcess({
    data,
    args: ['--event-store', 'embedded:'],
    env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]' },
  });

/** The largest data of an event that is appended alone. */
const MAX_DATA_BYTES = 1_000_000 - ID_BYTES - 'Counted'.length - metadata.length;

describe('copying a log', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'flightlog-copy-'));
  /** A path in the folder of this test. */
  const place = (name: string): string => join(scratch, name);
  let plane: ControlPlane;
  let server: LogServer;
  let original: { logId: string; events: string[] };

  beforeAll(async () => {
    plane = await startControlPlane({ FLIGHTLOG_EVENTSTORE_MODE: 'read' });
    await register(plane.grpc, withNeeds('01-hello'));
    for (let i = 0; i < 20; i += 1) await launchHello(plane.grpc, `copied-${i}`);
    await plane.run();
    original = await reading(logDirectory(plane.directory));
    server = await startLogServer(place('server'));
  });
  afterAll(async () => {
    await plane.close();
    await server.stop();
    rmSync(scratch, { recursive: true });
  });

  it('gives the same events, to an event store and back, as a copy with its own id until take-over', async () => {
    const url = `esdb://${server.address}?tls=false`;
    const there = await copy(logDirectory(plane.directory), url);
    expect(there).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(there.stdout)).toMatchObject({
      events: original.events.length,
      resumedAfter: 0,
      copyOf: original.logId,
    });
    const back = await copy(url, place('back'));
    expect(back).toMatchObject({ code: 0, stderr: '' });
    const copied = await reading(place('back'));
    expect(copied.events).toEqual(original.events);
    expect(copied.logId).not.toBe(original.logId);
    const { logId } = JSON.parse(there.stdout) as { readonly logId: string };
    const takenOver = await run(['log', 'take-over', '--event-store', url]);
    expect(JSON.parse(takenOver.stdout)).toEqual({ logId, copyOf: original.logId });
    expect(JSON.parse((await run(['log', 'take-over', '--event-store', url])).stdout)).toEqual({ logId });
  });

  it('to a data directory gives a log server whose control planes know that it is a copy until take-over', async () => {
    expect(await copy(logDirectory(plane.directory), place('served'))).toMatchObject({ code: 0, stderr: '' });
    const copied = await startLogServer(place('served'));
    const url = `esdb://${copied.address}?tls=false`;
    const served = await startServerProcess({ data: place('of-copy'), args: ['--event-store', url] });
    expect(served.ready).toMatchObject({ copyOf: original.logId });
    await served.stop();
    await run(['log', 'take-over', '--event-store', url]);
    await copied.restart();
    const over = await startServerProcess({ data: place('of-copy'), args: ['--event-store', url] });
    expect(over.ready).not.toHaveProperty('copyOf');
    await over.stop();
    await copied.stop();
  });

  it('gives the same events from a control plane in read mode, and is refused if its URL asks for JSON', async () => {
    const url = `esdb://${plane.server().ready.eventstore!}?tls=false`;
    const read = await copy(url, place('from-a-server'));
    expect(read).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(read.stdout)).toMatchObject({ copyOf: plane.server().ready.logId });
    expect((await reading(place('from-a-server'))).events).toEqual(original.events);
    // Clients of any other connection name than that of flightlog get events as JSON.
    const asJson = await copy(`${url}&connectionName=mine`, place('as-json'));
    const text = /gives events as JSON .*--eventstore-format stored/u;
    expect(asJson).toMatchObject({ code: 1, stderr: expect.stringMatching(text) as string });
  });

  it('gives a log on which a server starts, with the executions of the original', async () => {
    await copy(logDirectory(plane.directory), place('served'));
    const again = await serveEmbedded(place('served'));
    expect(again.ready.executions).toBe(plane.server().ready.executions + 20);
    await again.stop();
  });

  it('resumes after the last copied event when it was killed', async () => {
    const to = place('killed');
    const large = await filled(place('large'), 5_000, () => 2_000);
    await copyKilled(large, to, 'after-commit:3');
    const served = await flightlog(['serve', '--insecure', '--role', 'log', '--data', to, ...FREE_PORTS]).ended;
    expect(served).toMatchObject({ code: 1, stdout: '' });
    expect(served.stderr).toContain(`${to} has part of a log: \`flightlog log copy\` was interrupted or has failed`);
    await expect(serveEmbedded(to)).rejects.toThrow(`${to} has part of a log`);
    expect((await copy(to, place('of-part'))).stderr).toMatch(/^flightlog: .* has part of a log: /u);
    const backedUp = await run(['backup', '--data', to, '--to', place('backup-of-part')]);
    expect(backedUp.stderr).toMatch(/^flightlog: data: .* has part of a log: /u);
    const { code, stdout } = await copy(large, to);
    expect(code).toBe(0);
    const { events, resumedAfter } = JSON.parse(stdout) as { events: number; resumedAfter: number };
    expect(events).toBe(5_000);
    expect(resumedAfter).toBeGreaterThan(0);
    expect((await reading(to)).events).toEqual((await reading(large)).events);
    const again = await serveEmbedded(to);
    await again.stop();
  });

  it('resumes after each of three kills, with the event store killed after each, in both directions', async () => {
    const large = await filled(place('interrupted'), 3_000, (n) => 200 + (n % 7) * 1_000);
    const target = await startLogServer(place('interrupted-server'));
    const url = `esdb://${target.address}?tls=false`;
    const directions = [
      {
        from: large,
        to: url,
        copied: place('interrupted-server'),
        failPoints: ['before-commit:50', 'after-commit:100', 'after-commit:150'], // of single appends
      },
      {
        from: url,
        to: place('interrupted-back'),
        copied: place('interrupted-back'),
        failPoints: ['before-commit:2', 'after-commit:1', 'after-commit:2'], // of many appends in one batch
      },
    ];
    for (const { from, to, copied, failPoints } of directions) {
      for (const failPoint of failPoints) {
        await copyKilled(from, to, failPoint);
        await target.restart();
      }
      const { code, stdout, stderr } = await copy(from, to);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const { events, resumedAfter } = JSON.parse(stdout) as { events: number; resumedAfter: number };
      expect(events).toBe(3_000);
      expect(resumedAfter).toBeGreaterThan(0);
      expect((await reading(copied)).events).toEqual((await reading(large)).events);
    }
    await target.stop();
  }, 300_000);

  it('takes events of the largest size, and is refused into a log with other events', async () => {
    const large = await filled(place('largest'), 5, () => MAX_DATA_BYTES);
    const other = await filled(place('foreign'), 3, () => 10);
    const target = await startLogServer(place('largest-server'));
    const url = `esdb://${target.address}?tls=false`;
    for (const to of [url, place('largest-copy')]) expect(await copy(large, to)).toMatchObject({ code: 0, stderr: '' });
    for (const to of [place('largest-server'), place('largest-copy')])
      expect((await reading(to)).events).toEqual((await reading(large)).events);
    const refused = await copy(other, url);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/not a copy of the source/u) as string });
    await target.stop();
  }, 300_000);

  it('takes the events at its start while the log grows, and the others the next time', async () => {
    const growing = await filled(place('growing'), 2_000, () => 500);
    const log = await sqliteEventStore({ directory: growing });
    const state = { isCopying: true };
    const to = place('grown');
    const copying = copy(growing, to).finally(() => (state.isCopying = false));
    for (let n = 2_000; state.isCopying; n++) await log.append('growing-1' as never, 'any', [numbered(n, 500)]);
    expect(await copying).toMatchObject({ code: 0, stderr: '' });
    await log.close();
    const copied = (await reading(to)).events;
    expect(copied.length).toBeGreaterThanOrEqual(2_000);
    expect(copied).toEqual((await reading(growing)).events.slice(0, copied.length));
    const rest = await copy(growing, to);
    expect(rest.code).toBe(0);
    expect((await reading(to)).events).toEqual((await reading(growing)).events);
  }, 300_000);

  it.each([
    ['onto itself', () => [logDirectory(plane.directory), logDirectory(plane.directory)], /name the same log/u],
    ['from where there is no log', () => [place('nothing'), place('x')], /no data directory/u],
    // The first test has copied to `back`.
    ['into a log with other events', () => [place('back'), place('other')], /not a copy of the source/u],
  ] as const)('is refused %s', async (_, places, text) => {
    if (places()[1] === place('other')) {
      const other = await serveEmbedded(place('other'));
      await other.stop();
    }
    const [from = '', to = ''] = places();
    const { code, stderr } = await copy(from, to);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(text) as string });
  });
});
