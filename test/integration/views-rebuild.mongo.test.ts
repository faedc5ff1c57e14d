import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARTITIONS, viewPartitionOf } from '../../projections/runtime/partitions.js';
import { freshMongoViews } from '../../projections/store/mongo/fresh-mongo-views.js';
import { labelIn, readLabel } from '../../projections/store/mongo/layout.js';
import type { MongoLocation } from '../../projections/store/mongo/location.js';
import { projectStream } from '../../services/project/events.js';
import { flightlog } from '../support/processes/command.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { startRoleProcesses } from '../support/processes/roles.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const LIMIT_MS = 180_000;
const PROJECTS = ['one', 'two', 'three'];
/** The events of the log with {@link PROJECTS}: the one that sets the format of the log, and one for each project. */
const EVENTS = 1 + PROJECTS.length;

const register = async (http: string, id: string): Promise<void> => {
  const body = JSON.stringify({ project: { id, name: `the ${id}` } });
  const { status } = await fetch(`${http}/api/v1/projects`, { method: 'POST', body });
  expect(status).toBe(200);
};

/** The ids of the listed projects, sorted. */
const projectsAt = async (http: string): Promise<readonly string[]> => {
  const { projects } = (await (await fetch(`${http}/api/v1/projects`)).json()) as {
    readonly projects: readonly { readonly id: string }[];
  };
  return projects.map(({ id }) => id).sort();
};

/** Reads the label of a database: the id of the log that its views are of, and which build of the views is in use. */
const labelOf = async ({ url, database, shown }: MongoLocation): Promise<unknown> => {
  const client = new MongoClient(url);
  try {
    return await readLabel(client.db(database), shown);
  } finally {
    await client.close();
  }
};

describe.skipIf(mongoUrl === undefined)('a new copy of the views in a MongoDB', () => {
  it.each([
    ['is dropped when it is discarded', false],
    ['is kept when it is discarded after its activation was carried out, and only the answer was lost', true],
  ])(
    '%s',
    async (_, isInUse) => {
      const location = newMongoLocation();
      const fresh = await freshMongoViews(location, 'log-1');
      await fresh.store.prepare([{ name: 'texts', version: 1, fields: {}, indexes: [] }]);
      const client = new MongoClient(location.url);
      const db = client.db(location.database);
      if (isInUse) await labelIn(db).updateOne({ _id: 'views' }, { $set: { build: 1 } });
      await fresh.discard();
      const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
      expect(names.includes('texts.v1.r1')).toBe(isInUse);
      await client.close();
      await dropDatabase(location);
    },
    60_000,
  );

  it('leaves the copies of later rebuilds when it is discarded after them', async () => {
    const location = newMongoLocation();
    const texts = { name: 'texts', version: 1, fields: {}, indexes: [] };
    const slow = await freshMongoViews(location, 'log-1');
    for (let later = 0; later < 2; later += 1) {
      const fresh = await freshMongoViews(location, 'log-1');
      await fresh.store.prepare([texts]);
      await fresh.activate();
    }
    await slow.discard();
    const client = new MongoClient(location.url);
    const found = await client.db(location.database).listCollections({}, { nameOnly: true }).toArray();
    const names = found.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['texts.v1.r1', 'texts.v1.r2']));
    await client.close();
    await dropDatabase(location);
  }, 60_000);
});

// The tests follow one another: each finds the projects that those before it have registered.
describe.skipIf(mongoUrl === undefined)('views in a MongoDB', () => {
  const location = newMongoLocation();
  const args = ['--read-store', location.url];
  const data = mkdtempSync(join(tmpdir(), 'flightlog-rebuild-'));
  beforeAll(async () => {
    const server = await startServerProcess({ data, args });
    for (const id of PROJECTS) await register(server.ready.http, id);
    expect(await server.stop()).toBe(0);
  }, 120_000);
  afterAll(() => dropDatabase(location));

  it(
    'are rebuilt by the command line, also in an empty database',
    async () => {
      for (const isEmpty of [false, true]) {
        if (isEmpty) await dropDatabase(location);
        const { code, stdout, stderr } = await flightlog(['views', 'rebuild', '--data', data, ...args]).ended;
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(JSON.parse(stdout)).toMatchObject({ position: EVENTS, events: EVENTS, verifiedStreams: EVENTS });
      }
      const server = await startServerProcess({ data, args });
      expect(await projectsAt(server.ready.http)).toEqual([...PROJECTS].sort());
      expect(await server.stop()).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    'are rebuilt beside a running server, which then reads and writes them',
    async () => {
      const server = await startServerProcess({ data, args });
      const { code, stdout } = await flightlog(['views', 'rebuild', '--data', data, ...args]).ended;
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ position: EVENTS, verifiedStreams: EVENTS });
      await register(server.ready.http, 'four');
      expect(await projectsAt(server.ready.http)).toEqual([...PROJECTS, 'four'].sort());
      expect(await server.stop()).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    'are folded again when their database is dropped while a server runs',
    async () => {
      const server = await startServerProcess({ data, args });
      const { http } = server.ready;
      const label = await labelOf(location);
      await dropDatabase(location);
      await register(http, 'five');
      const listed = async (): Promise<number> =>
        (await fetch(`${http}/api/v1/executions/one/development?limit=1`)).status;
      expect(await until(listed, (status) => status === 200)).toBe(200);
      const seen = () => projectsAt(http);
      expect(await until(seen, ({ length }) => length === 5)).toEqual([...PROJECTS, 'four', 'five'].sort());
      // A process that starts now reads the build that this server writes.
      expect(await labelOf(location)).toEqual(label);
      expect(await server.stop()).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    'are kept complete by processes that started after the rebuild, beside those that started before',
    async () => {
      const own = newMongoLocation();
      const store = ['--read-store', own.url];
      const parts = await startRoleProcesses(['api', 'projector', 'projector'], { args: store });
      const log = ['--event-store', `esdb://${parts.log.address}?tls=false`];
      const { code } = await flightlog(['views', 'rebuild', '--data', join(parts.directory, 'alone'), ...log, ...store])
        .ended;
      expect(code).toBe(0);
      for (const name of ['projector-1', 'api-1']) {
        expect(await parts.process(name).stop()).toBe(0);
        await parts.process(name).start();
      }
      const { http } = parts.process('api-1').server().ready;
      const ids = Array.from({ length: 24 }, (_, at) => `wide-${at}`);
      expect(new Set(ids.map((id) => viewPartitionOf(projectStream(id))))).toEqual(new Set(PARTITIONS));
      for (const id of ids) await register(http, id);
      const seen = async (): Promise<number> => (await projectsAt(http)).filter((id) => ids.includes(id)).length;
      expect(await until(seen, (count) => count === ids.length)).toBe(ids.length);
      await parts.close();
      await dropDatabase(own);
    },
    LIMIT_MS,
  );

  it(
    'of another log are refused by a server, and replaced by the command line',
    async () => {
      const other = mkdtempSync(join(tmpdir(), 'flightlog-rebuild-'));
      const first = await startServerProcess({ data: other });
      await register(first.ready.http, 'five');
      expect(await first.stop()).toBe(0);
      await expect(startServerProcess({ data: other, args })).rejects.toThrow('has the views of another log');
      const { code, stdout } = await flightlog(['views', 'rebuild', '--data', other, ...args]).ended;
      expect(code).toBe(0);
      // The event that sets the format of the log, and the registration of `five`.
      expect(JSON.parse(stdout)).toMatchObject({ position: 2, verifiedStreams: 2 });
      const server = await startServerProcess({ data: other, args });
      expect(await projectsAt(server.ready.http)).toEqual(['five']);
      expect(await server.stop()).toBe(0);
    },
    LIMIT_MS,
  );
});
