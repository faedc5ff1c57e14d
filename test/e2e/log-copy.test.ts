import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../services/kernel/event-store.js';
import { sqliteEventStore } from '../../services/store/sqlite-event-store.js';
import { sqliteLogReader } from '../../services/store/sqlite-log-reader.js';
import { flightlog } from '../support/command.js';
import { type ControlPlane, register, startControlPlane } from '../support/control-plane.js';
import { withNeeds } from '../support/fixtures.js';
import { launchHello } from '../support/hello.js';
import { type LogServer, startLogServer } from '../support/log-server.js';
import { logDirectory } from '../support/test-log.js';
import { until } from '../support/until.js';

const copy = (args: readonly string[]) => flightlog(args).ended;

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

const reading = async (directory: string): Promise<{ logId: string; events: string[] }> => {
  const log = await sqliteLogReader({ directory });
  try {
    return { logId: log.logId, events: await contents(log) };
  } finally {
    await log.close();
  }
};

describe('copying a log', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'flightlog-copy-'));
  const place = (name: string): string => join(scratch, name);
  let plane: ControlPlane;
  let server: LogServer;
  let original: { logId: string; events: string[] };

  beforeAll(async () => {
    plane = await startControlPlane();
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

  it('goes to an event store and back, to the same bytes under a new id', async () => {
    const url = `esdb://${server.address}?tls=false`;
    const there = await copy(['log', 'copy', '--from', logDirectory(plane.directory), '--to', url]);
    expect(there).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(there.stdout)).toMatchObject({
      events: original.events.length,
      resumedAfter: 0,
      copyOf: original.logId,
    });
    const back = await copy(['log', 'copy', '--from', url, '--to', place('back')]);
    expect(back).toMatchObject({ code: 0, stderr: '' });
    const copied = await reading(place('back'));
    expect(copied.events).toEqual(original.events);
    expect(copied.logId).not.toBe(original.logId);
  });

  it('serves the copy as the original was served', async () => {
    await copy(['log', 'copy', '--from', logDirectory(plane.directory), '--to', place('served')]);
    const again = await startControlPlane({}, place('served'));
    expect(again.server().ready.executions).toBe(plane.server().ready.executions + 20);
    await again.close();
  });

  it('goes on where it was killed', async () => {
    const to = place('killed');
    const large = place('large');
    mkdirSync(large);
    const log = await sqliteEventStore({ directory: large });
    const metadata = JSON.stringify({ recordedAtMs: 1, actor: '', commandId: '', schema: 1 });
    const event = (n: number) => ({
      id: Buffer.from(n.toString(16).padStart(32, '0'), 'hex'),
      type: 'Counted',
      data: Buffer.alloc(2_000, n),
      metadata,
    });
    await Promise.all(
      Array.from({ length: 20_000 }, (_, n) => log.append(`counted-${n % 500}` as never, 'any', [event(n)])),
    );
    await log.close();

    const copying = flightlog(['log', 'copy', '--from', large, '--to', to]);
    await until(
      () => headOf(to),
      (head) => head > 500n,
    );
    copying.child.kill('SIGKILL');
    await copying.ended;
    const { code, stdout } = await copy(['log', 'copy', '--from', large, '--to', to]);
    expect(code).toBe(0);
    const { events, resumedAfter } = JSON.parse(stdout) as { events: number; resumedAfter: number };
    expect(events).toBe(20_000);
    expect(resumedAfter).toBeGreaterThan(0);
    expect((await reading(to)).events).toEqual((await reading(large)).events);
  });

  it.each([
    ['onto itself', () => [logDirectory(plane.directory), logDirectory(plane.directory)], /onto itself/u],
    ['from where there is no log', () => [place('nothing'), place('x')], /no data directory/u],
    ['into a log of something else', () => [place('back'), place('other')], /not a copy of this one/u],
  ] as const)('is refused %s', async (_, places, text) => {
    if (places()[1] === place('other')) {
      const other = await startControlPlane({}, place('other'));
      await other.server().stop();
    }
    const [from = '', to = ''] = places();
    const { code, stderr } = await copy(['log', 'copy', '--from', from, '--to', to]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(text) as string });
  });
});

/** Of a log that may not be there yet. */
const headOf = async (directory: string): Promise<bigint> => {
  const log = await sqliteLogReader({ directory }).catch(() => undefined);
  if (log === undefined) return 0n;
  try {
    return await log.head();
  } finally {
    await log.close();
  }
};
