import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { watchAppends } from '../../../services/health/append-watch.js';
import { RevisionConflict, StoreUnavailable } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';

it('appends are degraded from a failure of the store until an append succeeds, also through a conflict', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-append-watch-'));
  const log = await sqliteEventStore({ directory });
  onTestFinished(async () => {
    await log.close();
    rmSync(directory, { recursive: true });
  });
  let isFull = false;
  const { store, check } = watchAppends({
    ...log,
    append: (...given: Parameters<typeof log.append>) =>
      isFull ? Promise.reject(new StoreUnavailable('the disk is full')) : log.append(...given),
  });
  const stream = streamName('purse', ['a']);
  const event = (n: number) => ({ id: Buffer.alloc(16, n), type: 'Filled', data: new Uint8Array(), metadata: '{}' });
  await store.append(stream, 'no-stream', [event(1)]);
  expect(check()).toBeUndefined();
  isFull = true;
  await expect(store.append(stream, 'any', [event(2)])).rejects.toThrow(StoreUnavailable);
  isFull = false;
  await expect(store.append(stream, 'no-stream', [event(2)])).rejects.toThrow(RevisionConflict);
  expect(check()).toEqual({ name: 'appends', state: 'degraded', why: 'the disk is full' });
  await store.append(stream, 'any', [event(3)]);
  expect(check()).toBeUndefined();
});
