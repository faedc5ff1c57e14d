import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { RecordedEvent } from '../../../../services/kernel/event.js';
import { CorruptEvent, DataDirectoryInUse } from '../../../../services/kernel/fault.js';
import { LogEndsEarly } from '../../../../services/kernel/log-readers/log-end.js';
import type { EventStore } from '../../../../services/kernel/ports/event-store.js';
import { codecs } from '../../../../services/main/models.js';
import { folderTarget, inUse, type ObjectTarget } from '../../../../services/store/targets/object-target.js';
import type { Description, FileTarget } from '../../../../services/streams/files/description.js';
import { rowOf } from '../../../../services/streams/files/event-row.js';
import { positionRangeOf } from '../../../../services/streams/files/exported-file.js';
import { type FileExportOptions, openFileExport } from '../../../../services/streams/files/export-files.js';
import { jsonLines } from '../../../../services/streams/files/json-lines.js';
import { executionStream, newEvent, nodeReported, openEmptyLog } from '../../../support/streams/filled-log.js';

const root = mkdtempSync(join(tmpdir(), 'flightlog-files-'));
let store: EventStore;
let directory: string;

/** The times at which the events of the log were recorded: the clocks of two processes differ at midnight. */
const TIMES = [
  '2026-03-01T23:59:58Z',
  '2026-03-01T23:59:59Z',
  '2026-03-02T00:00:01Z',
  '2026-03-01T23:59:59Z',
  '2026-03-02T00:00:02Z',
  '2026-03-02T00:00:03Z',
];

/** Reports of nodes, and as the last event the request of a termination. */
const event = (time: string, index: number) => {
  const isLast = index === TIMES.length - 1;
  const recorded = isLast ? newEvent('TerminationRequested', new Uint8Array()) : nodeReported('e', index);
  const recordedAtMs = Date.parse(time);
  return { ...recorded, metadata: JSON.stringify({ ...(JSON.parse(recorded.metadata) as object), recordedAtMs }) };
};

beforeAll(async () => {
  ({ store, directory } = await openEmptyLog());
  await store.append(executionStream('e'), 'no-stream', TIMES.map(event));
});
afterAll(async () => {
  await store.close();
  for (const each of [root, directory]) rmSync(each, { recursive: true });
});

const DESCRIPTION: Description = { logId: 'a log', format: 'jsonl', partitionBy: 'date' };

const optionsOf = (target: FileTarget, changes: Partial<FileExportOptions> = {}): FileExportOptions => ({
  log: store,
  target,
  description: DESCRIPTION,
  format: jsonLines,
  filter: {},
  matches: () => true,
  rowOf: (each) => rowOf(each, { json: () => Promise.resolve(Buffer.from('{}')), codecs }),
  eventsPerFile: 10,
  onProgress: () => undefined,
  onFile: () => undefined,
  ...changes,
});

const neverStop = (): boolean => false;

/** Exports the log up to its head, and closes the target. */
const run = async (target: ObjectTarget, changes?: Partial<FileExportOptions>) => {
  try {
    return await (await openFileExport(optionsOf(target, changes))).run(neverStop);
  } finally {
    await target.close();
  }
};

const newFolder = (): string => mkdtempSync(join(root, 'place-'));

/** The paths of the exported files in a folder, sorted. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => positionRangeOf(path))
    .sort();

/** The positions of the events in the lines of a file. */
const positionsOf = (lines: string): readonly number[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { position: number }).position);

const positionsIn = (folder: string): readonly number[] =>
  filesIn(folder)
    .flatMap((path) => positionsOf(readFileSync(join(folder, path), 'utf8')))
    .sort((one, other) => one - other);

describe('an export of the log to files', () => {
  it('puts consecutive events of one date into a file, with their positions in its name', async () => {
    const folder = newFolder();
    expect(await run(folderTarget(folder, 'export'), { eventsPerFile: 2 })).toMatchObject({ files: 4, events: 6 });
    const name = (first: number, last: number): string =>
      `events-${String(first).padStart(20, '0')}-${String(last).padStart(20, '0')}.jsonl`;
    expect(filesIn(folder)).toEqual([
      `date=2026-03-01/${name(1, 2)}`,
      `date=2026-03-01/${name(4, 4)}`,
      `date=2026-03-02/${name(3, 3)}`,
      `date=2026-03-02/${name(5, 6)}`,
    ]);
    expect(positionsIn(folder)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('writes the columns of each event, and leaves out what it does not have', async () => {
    const folder = newFolder();
    await run(folderTarget(folder, 'export'), { description: { ...DESCRIPTION, partitionBy: 'none' } });
    const [path = ''] = filesIn(folder);
    const lines = readFileSync(join(folder, path), 'utf8').trim().split('\n');
    const [first, , , , , last] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(first).toMatchObject({ execution: 'e', node: 'n0', phase: 'RUNNING', schema_version: 1, body: {} });
    expect(first).toMatchObject({ actor: 'a tester', recorded_at: '2026-03-01T23:59:58.000000Z' });
    expect(first).not.toHaveProperty('attempt');
    expect(last).toMatchObject({ type: 'TerminationRequested', phase: 'ABORTING' });
    expect(last).toMatchObject({ occurred_at: last!['recorded_at'] });
  });

  it('refuses a log that ends before what was exported of it, as after a restore of an older copy', async () => {
    const exported = newFolder();
    await run(folderTarget(exported, 'export'));
    const planned = newFolder();
    const whole = folderTarget(planned, 'export');
    const write: ObjectTarget['write'] = (path, bytes) =>
      positionRangeOf(path) ? Promise.reject(new Error('interrupted')) : whole.write(path, bytes);
    await expect(run({ ...whole, write })).rejects.toThrow('interrupted');
    const older = await openEmptyLog();
    try {
      await older.store.append(executionStream('e'), 'no-stream', TIMES.slice(0, 1).map(event));
      for (const folder of [exported, planned]) {
        const again = run(folderTarget(folder, 'export'), { log: older.store });
        await expect(again).rejects.toThrow(LogEndsEarly);
      }
    } finally {
      await older.store.close();
      rmSync(older.directory, { recursive: true });
    }
    expect(positionsIn(exported)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('has each event once, wherever it was interrupted', async () => {
    // Each run is interrupted at a file: before it is written, or after that.
    const interruptions = fc.array(
      fc.record({ files: fc.nat(3), isWritten: fc.boolean(), perFile: fc.integer({ min: 1, max: 4 }) }),
    );
    await fc.assert(
      fc.asyncProperty(interruptions, async (runs) => {
        const folder = newFolder();
        const whole = folderTarget(folder, 'export');
        for (const { files, isWritten, perFile } of runs) {
          let remaining = files;
          const write = async (path: string, bytes: Uint8Array): Promise<void> => {
            if (remaining === 0 && !isWritten) throw new Error('interrupted');
            await whole.write(path, bytes);
            if (remaining === 0) throw new Error('interrupted');
            remaining -= 1;
          };
          await run({ ...whole, write }, { eventsPerFile: perFile }).catch(() => undefined);
        }
        await run(whole);
        expect(positionsIn(folder)).toEqual([1, 2, 3, 4, 5, 6]);
      }),
      { numRuns: 30 },
    );
  });

  it('has each event once, however exports to a bucket overlap', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 6 }),
        async (scheduler, sizes) => {
          const objects = new Map<string, { bytes: Uint8Array; version: number }>();
          const put = (path: string, bytes: Uint8Array): void => {
            objects.set(path, { bytes, version: (objects.get(path)?.version ?? 0) + 1 });
          };
          const slowly = async <Result>(work: () => Result): Promise<Result> => {
            await scheduler.schedule(Promise.resolve());
            return work();
          };
          const bucket: ObjectTarget = {
            shown: 'bucket',
            sizes: () => slowly(() => new Map([...objects].map(([path, { bytes }]) => [path, bytes.length]))),
            read: (path) => slowly(() => objects.get(path)?.bytes),
            write: (path, bytes) => slowly(() => put(path, bytes)),
            openExclusively: (path) =>
              slowly(() => {
                const before = objects.get(path);
                let version = before?.version ?? 0;
                const replace = (bytes: Uint8Array): Promise<void> =>
                  slowly(() => {
                    if ((objects.get(path)?.version ?? 0) !== version) throw inUse('export', 'bucket');
                    put(path, bytes);
                    version += 1;
                  });
                return { before: before?.bytes, replace };
              }),
            close: () => Promise.resolve(),
          };
          const attempt = (eventsPerFile: number) =>
            run(bucket, { eventsPerFile }).catch((error: unknown) => {
              if (!(error instanceof DataDirectoryInUse)) throw error;
            });
          await scheduler.waitFor(Promise.all(sizes.map(attempt)));
          await scheduler.waitFor(run(bucket));
          const positions = [...objects].flatMap(([path, { bytes }]) =>
            positionRangeOf(path) ? positionsOf(Buffer.from(bytes).toString()) : [],
          );
          expect(positions.sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('writes whole files also when it is to stop, and writes no event again in the next run', async () => {
    const folder = newFolder();
    const exporting = await openFileExport(
      optionsOf(folderTarget(folder, 'export'), { matches: ({ position }) => position < 6n }),
    );
    expect(await exporting.run(() => true)).toMatchObject({ events: 5 });
    expect(exporting.position).toBe(6n);
    expect(await exporting.run(neverStop)).toEqual({ files: 0, events: 0, parked: 0, bytes: 0 });
  });

  it('is refused while another one has the folder', async () => {
    const folder = newFolder();
    const [one, other] = [folderTarget(folder, 'export'), folderTarget(folder, 'export')];
    const exporting = await openFileExport(optionsOf(one));
    await expect(run(other)).rejects.toThrow(`export ${folder} is being written by another process`);
    expect(await exporting.run(neverStop)).toMatchObject({ events: 6 });
    await one.close();
    expect(await run(other)).toMatchObject({ events: 0 });
    await other.close();
  });

  it('counts the events that it has parked', async () => {
    const json = (each: RecordedEvent): Promise<Uint8Array> =>
      each.position === 2n ? Promise.reject(new CorruptEvent('damaged')) : Promise.resolve(Buffer.from('{}'));
    const rows = { rowOf: (each: RecordedEvent) => rowOf(each, { json, codecs }) };
    expect(await run(folderTarget(newFolder(), 'export'), rows)).toMatchObject({ events: 6, parked: 1 });
  });

  it('exports only events that are selected', async () => {
    const folder = newFolder();
    const types = ['TerminationRequested'];
    expect(await run(folderTarget(folder, 'export'), { filter: { types } })).toMatchObject({ events: 1 });
    expect(positionsIn(folder)).toEqual([6]);
  });

  it.each([
    ['log', { logId: 'another log' }],
    ['format', { format: 'parquet' }],
    ['partitioning', { partitionBy: 'none' as const }],
    ['selection', { project: 'flytesnacks' }],
  ])('refuses a place with files of another %s', async (_, other) => {
    const target = folderTarget(newFolder(), 'export');
    await run(target);
    await expect(run(target, { description: { ...DESCRIPTION, ...other } })).rejects.toThrow('choose an empty place');
  });

  it('refuses a place of another export that has no file yet', async () => {
    const target = folderTarget(newFolder(), 'export');
    await run(target, { matches: () => false });
    await expect(run(target, { description: { ...DESCRIPTION, partitionBy: 'none' } })).rejects.toThrow(
      `export ${target.shown} belongs to another export: ${JSON.stringify(DESCRIPTION)}`,
    );
  });

  it('refuses a place with files that do not say what they are', async () => {
    const folder = newFolder();
    await run(folderTarget(folder, 'export'));
    rmSync(join(folder, '_export.json'));
    await expect(run(folderTarget(folder, 'export'))).rejects.toThrow('no _export.json');
  });
});
