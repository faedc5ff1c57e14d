import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, expect, it } from 'vitest';

import { threadedShare } from '../../../../services/main/views/threaded-share.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-share-'));
afterAll(() => rmSync(directory, { recursive: true }));

it('a thread of a rebuild that has failed can be closed', async () => {
  const created = once(process, 'worker') as Promise<[Worker]>;
  const share = threadedShare({ directory, location: { kind: 'file' }, partitions: [], verifiedStreams: 0 });
  const [worker] = await created;
  const ended = new Promise((resolve) => worker.once('exit', resolve)); // the thread ends by itself
  await expect(share.build(() => undefined)).rejects.toThrow('it is not there');
  await ended;
  await share.close();
});
