import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { threadedShare } from '../../../../services/main/views/threaded-share.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-share-'));
afterAll(() => rmSync(directory, { recursive: true }));

it('a thread of a rebuild that has failed can be closed', async () => {
  const share = threadedShare({ directory, location: { kind: 'file' }, partitions: [], verifiedStreams: 0 });
  await expect(share.build(() => undefined)).rejects.toThrow('it is not there');
  await new Promise((resolve) => setTimeout(resolve, 100)); // the thread ends by itself
  await share.close();
});
