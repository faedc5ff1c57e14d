import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { watchThreadOpener } from '../../../services/main/watch/watch-thread-opener.js';

it('no watch begins after the thread of watches was closed', async () => {
  const directory = '/no-such-directory';
  const source = { kind: 'embedded', directory } as const;
  const data = { directory, location: { kind: 'file' }, views: { kind: 'sqlite' }, source } as const;
  const ignore = (): void => undefined;
  const thread = watchThreadOpener(data)(ignore, ignore);
  await thread.close();
  const asked = thread.ask({ more: 1 /* the id of a watch */ });
  await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'shutting down' });
});

it('watches end with the error of their thread as the cause', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-no-log-'));
  const source = { kind: 'embedded', directory } as const;
  const data = { directory, location: { kind: 'file' }, views: { kind: 'sqlite' }, source } as const;
  const ends: Error[] = [];
  const thread = watchThreadOpener(data)(
    () => undefined,
    (error) => ends.push(error),
  );
  const thrown: unknown = await thread.ask({ more: 1 /* the id of a watch */ }).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(StoreUnavailable);
  expect(ends).toEqual([thrown]);
  const { message, cause } = thrown as StoreUnavailable;
  expect(cause).toHaveProperty('message', message);
  rmSync(directory, { recursive: true });
});
