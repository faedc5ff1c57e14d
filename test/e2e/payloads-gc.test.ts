import { mkdtempSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { markIncomplete } from '../../services/store/log/presence.js';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { filePayloadObjects } from '../../services/store/payloads/file-payload-objects.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { payloadPath } from '../../services/store/payloads/object-name.js';
import { flightlog } from '../support/processes/command.js';
import { startControlPlane } from '../support/processes/control-plane.js';
import { garbageStory } from '../support/garbage-story.js';
import { eventStoreEnvironment } from '../support/processes/test-log.js';

const DAY_MS = 24 * 3_600_000;

/** Makes a payload 8 days old. */
const makeOlder = async (directory: string, path: string): Promise<void> => {
  const time = new Date(Date.now() - 8 * DAY_MS);
  await utimes(join(directory, 'payloads', path), time, time);
};

/** The number of payloads in a folder. */
const payloadsIn = async (directory: string): Promise<number> => {
  let count = 0;
  for await (const page of filePayloadObjects({ directory }).list()) count += page.length;
  return count;
};

garbageStory('a folder of payloads', (directory) => ({
  setting: 'file:',
  ageMs: 7 * DAY_MS,
  runs: 1,
  rounds: 6,
  open: () => ({ store: filePayloadStore({ directory }), objects: filePayloadObjects({ directory }) }),
  makeOld: async (refs) => {
    for (const { scope, sha256 } of refs) await makeOlder(directory, payloadPath(scope, sha256));
  },
}));

describe('payloads gc', () => {
  const gc = (args: readonly string[]) => flightlog(['payloads', 'gc', ...args]).ended;

  it('takes no age below an hour', async () => {
    const { code, stderr } = await gc(['--older-than', '59m']);
    expect(code).toBe(1);
    expect(stderr).toContain('--older-than must be an hour or more');
    expect((await gc(['--older-than', 'soon'])).stderr).toContain('must be a duration such as');
  });

  it('removes nothing where there is no log', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-garbage-'));
    const { scope, sha256 } = await filePayloadStore({ directory }).put('definitions/a', Uint8Array.of(1));
    await makeOlder(directory, payloadPath(scope, sha256));
    const { code, stderr } = await gc(['--data', directory]);
    expect(code).toBe(1);
    expect(stderr).toContain('log.db cannot be used: it is not there');
    expect(await payloadsIn(directory)).toBe(1);
  });

  it('removes nothing while the log is an unfinished copy, which lacks events that name payloads', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flightlog-garbage-'));
    await (await sqliteEventStore({ directory })).close();
    await markIncomplete(directory);
    const { scope, sha256 } = await filePayloadStore({ directory }).put('definitions/a', Uint8Array.of(1));
    await makeOlder(directory, payloadPath(scope, sha256));
    const { code, stderr } = await gc(['--data', directory]);
    expect(code).toBe(1);
    expect(stderr).toContain(`flightlog: data: ${directory} has part of a log`);
    expect(await payloadsIn(directory)).toBe(1);
  });

  it('is refused for a store that has no payload of the log', async () => {
    const plane = await startControlPlane();
    const { directory } = plane;
    const { scope, sha256 } = await filePayloadStore({ directory }).put('definitions/a', Uint8Array.of(1));
    await makeOlder(directory, payloadPath(scope, sha256));
    const { code, stderr } = await flightlog(['payloads', 'gc', '--data', directory], {
      env: eventStoreEnvironment(directory),
    }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('none of the payloads is named by this log');
    expect(await payloadsIn(directory)).toBe(1);
    await plane.close();
  });
});
