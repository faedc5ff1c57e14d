import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { EventStore } from '../../services/kernel/ports/event-store.js';
import { rangeOf } from '../../services/streams/files/exported-file.js';
import { s3Target } from '../../services/store/targets/s3-target.js';
import { flightlog } from '../support/command.js';
import { openTestLog, report } from '../support/filled-log.js';
import { makeBucket, newS3Location, s3Setting, s3Url } from '../support/s3-server.js';

describe.skipIf(s3Url === undefined)('an export of files into a bucket', () => {
  let directory: string;
  let store: EventStore;

  beforeAll(async () => {
    await makeBucket();
    ({ directory, store } = await openTestLog());
    await report(store, 3, 2);
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  it('goes on after a kill, and has each event once', async () => {
    const location = newS3Location();
    const run = (env: Readonly<Record<string, string>> = {}) =>
      flightlog(
        [
          ...['export', 'files', '--data', directory, '--event-store', 'embedded:', '--payload-store', 'file:'],
          ...['--to', s3Setting(location), '--format', 'jsonl', '--events-per-file', '7'],
        ],
        { env },
      ).ended;
    expect(await run({ FLIGHTLOG_FAIL_POINT: 'exported-file:3' })).toMatchObject({ code: null, stdout: '' });
    expect(JSON.parse((await run()).stdout)).toMatchObject({ files: 6, events: 39, position: 60 });
    await report(store, 1, 1);
    expect(JSON.parse((await run()).stdout)).toMatchObject({ files: 2, events: 10, position: 70 });

    const target = await s3Target(location, 'export');
    const positions: number[] = [];
    for (const path of [...(await target.sizes()).keys()].filter((each) => rangeOf(each))) {
      const lines = Buffer.from((await target.read(path)) ?? [])
        .toString()
        .trim()
        .split('\n');
      positions.push(...lines.map((line) => (JSON.parse(line) as { position: number }).position));
    }
    await target.close();
    expect(positions).toEqual(Array.from({ length: 70 }, (_, at) => at + 1));
  });
});
