import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionCreateRequest } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { DataProxyService } from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { runEngine } from '../../engine/engine.js';
import { bytesOf, type Content } from '../../services/kernel/ports/payload-store.js';
import { codecs } from '../../services/main/models.js';
import { backUp } from '../../services/store/backup/back-up.js';
import { directoryFiles, CONTROL_PLANE_FILES } from '../../services/store/backup/backup-files.js';
import { lockDataDirectory } from '../../services/store/data-directory.js';
import { folderTarget } from '../../services/store/targets/object-target.js';
import { restoreBackup } from '../../services/store/backup/restore.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { type Ended, flightlog } from '../support/processes/command.js';
import { register } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, literal } from '../support/requests/hello.js';
import { modelOf } from '../support/views/independent-model.js';
import { timesInLog, watchRecorded } from '../support/streams/recorded-events.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { overGrpc } from '../support/clients/transports.js';
import { until } from '../support/until.js';
import { differencesAt } from '../support/views/view-check.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-backup-'));
/** The data directory that is backed up, and the folder of the backup. */
const [data, place] = [join(folder, 'data'), join(folder, 'backup')];
const FREE_PORTS = ['--grpc-port', '0', '--http-port', '0', '--eventstore-port', '0'];
const EMBEDDED = ['--event-store', 'embedded:', '--read-store', 'sqlite:'];
const UPLOAD = 'files/uploads/flytesnacks/development/kept/code.tar.gz';
const LARGE = 'x'.repeat(100_000);
afterAll(() => rmSync(folder, { recursive: true }));

const backup = (to = place, env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  flightlog(['backup', '--data', data, '--event-store', 'embedded:', '--to', to], { env }).ended;
const restore = (to: string): Promise<Ended> => flightlog(['restore', '--from', place, '--data-dir', to]).ended;

/** Categories of other applications in the log: none. */
const foreign = new Set<string>();
const onProgress = (): void => undefined;

/** Restores within this process, as the command does. */
const restoredHere = (directory: string) =>
  restoreBackup({ target: folderTarget(place, 'backup'), directory, codecs, foreign, onProgress });
/** Backs up within this process, as the command does. */
const backedUpHere = async (directory: string) => {
  const log = await sqliteLogReader({ directory });
  const payloads = filePayloadStore({ directory });
  const from = { log, payloads, files: directoryFiles(directory) };
  try {
    return await backUp({ ...from, target: folderTarget(place, 'backup'), codecs, foreign, onProgress });
  } finally {
    await log.close();
  }
};

/** The counts that a command has printed, which must have succeeded. */
const countsOf = ({ code, stdout, stderr }: Ended): Record<string, number> => {
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, number>;
};

/** The path of the largest object in a folder of the backup; in `files`, it belongs to the upload. */
const largestObject = (part: string): string => {
  const names = readdirSync(join(place, part), { recursive: true, encoding: 'utf8' });
  const objects = names.filter((name) => /[0-9a-f]{64}$/u.test(name)).map((name) => join(place, part, name));
  const [first = ''] = objects.sort((one, other) => statSync(other).size - statSync(one).size);
  return first;
};

/** A launch whose inputs are large enough for a payload of their own. */
const large = (name: string): ExecutionCreateRequest =>
  helloRequest(name, (request) => {
    request.inputs = create(LiteralMapSchema, { literals: { name: literal(`${name} ${LARGE}`) } });
  });

/** The content of a log: its events, how often it has each report of an engine, its head, and a model of its views. */
const truthOf = async (directory: string) => {
  const log = await sqliteLogReader({ directory });
  const payloads = filePayloadStore({ directory });
  const read = (content: Content): Promise<Uint8Array> => bytesOf(content, payloads);
  const events: string[] = [];
  for await (const page of log.readLog({ after: 0n }))
    for (const { stream, revision, id, data: bytes, metadata } of page.events)
      events.push(
        `${stream}/${revision} ${Buffer.from(id).toString('hex')} ${metadata} ${Buffer.from(bytes).toString('base64')}`,
      );
  const truth = { events, times: await timesInLog(log, read), model: await modelOf(log, read), head: await log.head() };
  await log.close();
  return truth;
};

describe('a backup of a server that is killed in the middle of load', () => {
  const { watch, hashes } = watchRecorded();
  const acknowledged = new Set<string>();
  let first: Record<string, number>;

  beforeAll(async () => {
    const server = await startServerProcess({ data, args: EMBEDDED, env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]' } });
    const grpc = overGrpc(server.ready);
    await register(grpc, withNeeds('01-hello'));
    mkdirSync(join(data, UPLOAD, '..'), { recursive: true });
    writeFileSync(join(data, UPLOAD), LARGE.repeat(100));
    for (const name of ['users.json', 'clients.json']) writeFileSync(join(data, name), `{"of":"${name}"}`);
    const stopping = new AbortController();
    const options = { concurrency: 16, rate: 0, failureProbability: 0.05, seed: 'backup', gates: 'auto' } as const;
    const engine = runEngine(
      { endpoint: server.ready.grpc, ...options, untilIdle: false },
      {
        signal: stopping.signal,
        logger: { debug: () => undefined, info: () => undefined, warn: () => undefined },
        watch,
      },
    ).catch(() => undefined);
    let launches = 0;
    const launch = (): Promise<unknown> => {
      const request = large(`backed-up-${launches++}`);
      return grpc.attempt(AdminService.method.createExecution, request).catch(() => undefined);
    };
    await until(
      async () => {
        await launch();
        return hashes.size;
      },
      (size) => size >= 100,
    );
    for (const hash of hashes) acknowledged.add(hash);
    const running = backup();
    const seen = hashes.size;
    await until(
      async () => {
        await launch();
        return hashes.size;
      },
      (size) => size > seen + 20,
    );
    await server.kill();
    stopping.abort();
    first = countsOf(await running);
    grpc.close();
    await engine;
  });

  it('has all reports that were acknowledged before it started; restored elsewhere, its views agree with its log', async () => {
    const copy = join(folder, 'copy');
    const { events } = countsOf(await restore(copy));
    expect(events).toBe(first['events']);
    const [original, restored] = [await truthOf(data), await truthOf(copy)];
    expect(restored.events).toEqual(original.events.slice(0, events));
    expect([...acknowledged].filter((hash) => !restored.times.has(hash))).toEqual([]);
    for (const name of [UPLOAD, ...CONTROL_PLANE_FILES])
      expect(readFileSync(join(copy, name)).equals(readFileSync(join(data, name)))).toBe(true);
    for (const name of CONTROL_PLANE_FILES) expect(statSync(join(copy, name)).mode & 0o777).toBe(0o600);
    const server = await startServerProcess({ data: copy, args: EMBEDDED });
    expect(await differencesAt(server.ready, restored.head, restored.model)).toEqual([]);
    const nativeUrl = `file://${data}/${UPLOAD}`; // as events have it, with the directory of the original
    const grpc = overGrpc(server.ready);
    const { signedUrl } = await grpc.call(DataProxyService.method.createDownloadLocation, { nativeUrl });
    expect(Buffer.from(await (await fetch(signedUrl)).arrayBuffer()).equals(readFileSync(join(data, UPLOAD)))).toBe(
      true,
    );
    grpc.close();
    await server.kill();
  });

  it('copies only what is new the next time, also after a killed backup, which leaves the first intact', async () => {
    const before = readFileSync(join(place, 'backup.json'), 'utf8');
    const restarted = await startServerProcess({ data, args: EMBEDDED });
    const grpc = overGrpc(restarted.ready);
    for (const name of ['later-1', 'later-2']) await grpc.call(AdminService.method.createExecution, large(name));
    expect((await backup(place, { FLIGHTLOG_FAIL_POINT: 'backup-object:2' })).code).toBeNull();
    expect(readFileSync(join(place, 'backup.json'), 'utf8')).toBe(before);
    expect(await restoredHere(join(folder, 'after-kill'))).toMatchObject({ events: first['events'] });
    const second = countsOf(await backup());
    expect(second['copiedEvents']).toBe(second['events']! - first['events']!);
    expect(second['copiedFiles']).toBe(CONTROL_PLANE_FILES.length); // these are copied each time
    expect(await backedUpHere(data)).toMatchObject({
      copiedEvents: 0,
      copiedPayloads: 0,
      copiedBytes: 0,
      events: second['events'],
    });
    grpc.close();
    await restarted.kill();
    const again = join(folder, 'again');
    await restoredHere(again);
    expect((await truthOf(again)).events).toEqual((await truthOf(data)).events);
  });

  it.each(['backup.json', 'log', 'payloads', 'files'])(
    'is not restored when damaged or incomplete in %s',
    async (part) => {
      const broken = join(folder, `broken-${part}`);
      const found = part.endsWith('.json') ? join(place, part) : largestObject(part);
      const whole = readFileSync(found);
      const damaged = Uint8Array.from(whole, (byte, at) => (at === whole.length - 3 ? byte ^ 1 : byte));
      writeFileSync(found, damaged);
      await expect(restoredHere(broken)).rejects.toThrow(/^backup .* is damaged: .* is not what/u);
      expect(existsSync(join(broken, 'log.db'))).toBe(false);
      rmSync(found);
      const missing = part.endsWith('.json') ? 'there is no backup in' : /is incomplete: .* is missing/u;
      await expect(restoredHere(broken)).rejects.toThrow(missing);
      writeFileSync(found, whole);
    },
  );

  it.each(['log', 'payloads', 'files'])(
    'has an object that was removed from its %s again after the next backup',
    async (part) => {
      rmSync(largestObject(part));
      const { copiedEvents, copiedPayloads, copiedFiles } = await backedUpHere(data);
      expect([copiedEvents > 0, copiedPayloads, copiedFiles > CONTROL_PLANE_FILES.length]).toEqual([
        part !== 'files',
        part === 'payloads' ? 1 : 0,
        part === 'files',
      ]);
      await restoredHere(join(folder, `again-${part}`));
    },
  );

  it('is assembled in a folder that only its user can read', async () => {
    const directory = join(folder, 'private');
    const modes = new Set<number>();
    const noteMode = (): void => void modes.add(statSync(join(directory, 'restoring')).mode & 0o777);
    const target = folderTarget(place, 'backup');
    await restoreBackup({ target, directory, codecs, foreign, onProgress: noteMode });
    expect([...modes]).toEqual([0o700]);
  });

  it('is not mixed with another log’s, made in the data, restored over data, or served half restored', async () => {
    const copy = join(folder, 'copy');
    const ended = await restore(copy);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(
      /^flightlog: --data-dir: .*copy is not empty: restore into a directory with nothing in it\n$/u,
    );
    if (process.platform === 'linux') {
      const nowhere = await restore('/proc/flightlog');
      expect(nowhere.stderr).toMatch(
        /^flightlog: --data-dir: .* cannot be created: no folder can be created in .proc\n$/u,
      );
    }
    await expect(backedUpHere(copy)).rejects.toThrow(
      /^backup .* is of another log: of .* choose an empty folder or bucket$/u,
    );
    const locked = join(folder, 'locked');
    const lock = await lockDataDirectory(locked); // as another restore has it
    mkdirSync(join(locked, 'restoring'));
    const second = await restore(locked);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(
      new RegExp(`^flightlog: --data-dir: data directory .*locked is in use by process ${process.pid}\n$`, 'u'),
    );
    expect(readdirSync(locked)).toContain('restoring');
    lock.release();
    expect(await restore(locked)).toMatchObject({ code: 0 });
    const half = join(folder, 'half');
    mkdirSync(join(half, 'restoring'), { recursive: true });
    const served = await flightlog(['serve', '--insecure', '--role', 'log', '--data', half, ...FREE_PORTS]).ended;
    expect(served).toMatchObject({ code: 1, stdout: '' });
    expect(served.stderr).toContain('has half of a backup: a restore goes on, or was interrupted');
    expect(readdirSync(half)).not.toContain('log.db');
    const inside = await backup(join(data, 'backups', 'daily'));
    expect(inside).toMatchObject({ code: 1, stdout: '' });
    expect(inside.stderr).toMatch(
      /^flightlog: --to: .*daily is in the data directory .*data: choose a folder outside/u,
    );
    expect(existsSync(join(data, 'backups'))).toBe(false);
    const bucket = 's3://backups/daily?endpoint=http://127.0.0.1:1&region=eu-central-1';
    const mixing = ['restore', '--from', bucket, '--data-dir', join(folder, 'mixed'), '--payload-store', bucket];
    const mixed = await flightlog(mixing).ended;
    expect(mixed).toMatchObject({ code: 1, stdout: '' });
    expect(mixed.stderr).toMatch(/^flightlog: --from: s3:.* has the bucket and prefix of the payload store/u);
  });
});
