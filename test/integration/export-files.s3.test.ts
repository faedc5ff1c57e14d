import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { positionRangeOf } from '../../services/streams/files/exported-file.js';
import type { S3Location } from '../../services/store/s3-client.js';
import { s3Target } from '../../services/store/targets/s3-target.js';
import { flightlog } from '../support/processes/command.js';
import { allEvents, openEmptyLog, report } from '../support/streams/filled-log.js';
import { makeBucket, newS3Location, s3Setting, s3Url } from '../support/servers/s3-server.js';

describe.skipIf(s3Url === undefined)('an export of files into a bucket', () => {
  let directory: string;
  let store: EventStore;

  beforeAll(async () => {
    await makeBucket();
    ({ directory, store } = await openEmptyLog());
    await report(store, 3, 2); // 60 events
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const exporting = (location: S3Location, perFile: string, env: Readonly<Record<string, string>> = {}) =>
    flightlog(
      [
        ...['export', 'files', '--data', directory, '--event-store', 'embedded:', '--payload-store', 'file:'],
        ...['--to', s3Setting(location), '--format', 'jsonl', '--events-per-file', perFile],
      ],
      { env },
    ).ended;

  /** The positions of the exported events, in the order of the files. */
  const positionsIn = async (location: S3Location): Promise<readonly number[]> => {
    const target = await s3Target(location, 'export');
    const positions: number[] = [];
    for (const path of [...(await target.sizes()).keys()].filter((each) => positionRangeOf(each))) {
      const lines = Buffer.from((await target.read(path)) ?? [])
        .toString()
        .trim()
        .split('\n');
      positions.push(...lines.map((line) => (JSON.parse(line) as { position: number }).position));
    }
    await target.close();
    return positions;
  };

  const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, at) => at + 1);

  it('resumes after a kill, and has each event once', async () => {
    const location = newS3Location();
    // Three files of 7 events are complete when the process is killed.
    const killed = await exporting(location, '7', { FLIGHTLOG_FAIL_POINT: 'exported-file:3' });
    expect(killed).toMatchObject({ code: null, stdout: '' });
    expect(JSON.parse((await exporting(location, '7')).stdout)).toMatchObject({ files: 6, events: 39, position: 60 });
    await report(store, 1, 1); // ten more events
    expect(JSON.parse((await exporting(location, '7')).stdout)).toMatchObject({ files: 2, events: 10, position: 70 });
    expect(await positionsIn(location)).toEqual(upTo(70));
  });

  it('has each event once when two processes export to the same place', async () => {
    const location = newS3Location();
    const exports = await Promise.all([exporting(location, '1'), exporting(location, '1')]);
    for (const { code, stderr } of exports)
      if (code !== 0) expect(stderr).toContain('is being written by another process');
    await exporting(location, '7');
    expect(await positionsIn(location)).toEqual(upTo((await allEvents(store)).length));
  });
});
