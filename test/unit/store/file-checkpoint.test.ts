import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { follow } from '../../../services/kernel/log-readers/follow.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { fileCheckpoint } from '../../../services/store/file-checkpoint.js';
import { openEmptyLog, report } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-checkpoint-'));
  path = join(directory, 'checkpoints', 'notify');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The checkpoint of the reactor `notify`, as another process opens it. */
const opened = (logId = 'a') => fileCheckpoint({ directory, name: 'notify', logId });

/** Puts a folder where the file belongs, so that it can be neither read nor replaced. */
const block = (): unknown => mkdirSync(path, { recursive: true });

describe('a checkpoint in a file', () => {
  it('is what was written, in the next process too', async () => {
    await opened().write(7n);
    expect(await opened().read()).toBe(7n);
  });

  it('is 0 when there is none, or one of another log, or a truncated one', async () => {
    expect(await opened().read()).toBe(0n);
    await opened('b').write(7n);
    expect(await opened().read()).toBe(0n);
    writeFileSync(path, 'a 7');
    expect(await opened().read()).toBe(0n);
  });

  it('is not taken for one that is missing when it cannot be read', async () => {
    block();
    const read = opened().read();
    await expect(read).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(read).rejects.toThrow(`checkpoint ${path} cannot be read: EISDIR`);
  });

  it('is unavailable while it cannot be written', async () => {
    writeFileSync(join(directory, 'checkpoints'), 'a file where the folder should be');
    const write = opened().write(7n);
    await expect(write).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(write).rejects.toThrow(`checkpoint ${path} cannot be written: ENOTDIR`);
    rmSync(join(directory, 'checkpoints'));
    await opened().write(7n);
    expect(readFileSync(path, 'utf8')).toBe('a 7\n');
  });

  it('does not bring a removed data directory back', async () => {
    const checkpoint = opened();
    rmSync(directory, { recursive: true });
    await checkpoint.write(7n);
    expect(() => readFileSync(path)).toThrow('ENOENT');
  });

  it('that cannot be written does not hide the failure of the log', async () => {
    const failures: unknown[] = [];
    const checkpoint = { read: () => Promise.resolve(0n), write: () => Promise.reject(new StoreUnavailable('full')) };
    const log: Pick<EventLog, 'subscribe'> = {
      subscribe: (_options, onPage) => ({
        ended: Promise.resolve(onPage({ events: [], position: 1n }, true)).then(() => {
          throw new Error('the log has failed');
        }),
        close: () => Promise.resolve(),
      }),
    };
    const reactor = follow(
      { log, filter: {}, checkpoint, now: () => 0, onFailure: (error) => failures.push(error) },
      ({ position }, _isLive, reached) => reached(position),
    );
    await expect(reactor.ended).rejects.toThrow('the log has failed');
    expect(failures).toEqual([expect.any(StoreUnavailable)]);
  });

  it('that cannot be written is written later by its reactor, which goes on', async () => {
    const { directory: logDirectory, store } = await openEmptyLog();
    const failures: unknown[] = [];
    let atMs = 0;
    block();
    const checkpoint = { read: () => Promise.resolve(0n), write: (position: bigint) => opened().write(position) };
    // Each page comes 2 s after the one before; a checkpoint is written at most once a second.
    const options = { log: store, filter: {}, checkpoint, now: () => (atMs += 2_000) };
    const reactor = follow(
      { ...options, onFailure: (error) => failures.push(error) },
      ({ events, position }, _isLive, reached) => (events.length > 0 ? reached(position) : Promise.resolve()),
    );
    await report(store, 1, 1, 1);
    await until(
      () => Promise.resolve(failures.length),
      (count) => count === 1,
    );
    expect(failures).toEqual([expect.any(StoreUnavailable)]);
    rmSync(path, { recursive: true });
    await report(store, 1, 1, 1);
    await until(
      () => opened().read(),
      (position) => position === 2n,
    );
    await reactor.close();
    await store.close();
    rmSync(logDirectory, { recursive: true });
  });
});
