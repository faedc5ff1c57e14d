import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { executionCodec } from '../../../services/execution/events.js';
import { watchWork } from '../../../services/main/engines/engine-feed.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { creation, termination } from '../execution/reports.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

it('an engine in the process of the log is notified of launches and terminations, and not of tags', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-work-'));
  const log = await sqliteEventStore({ directory });
  const { id, created } = creation;
  const record = async (event: Parameters<typeof executionCodec.encode>[0]): Promise<void> => {
    const encoded = executionCodec.encode(event);
    await log.append(executionStream(id), 'any', [
      { id: Buffer.from(randomUUID().slice(0, 16)), metadata: '{}', ...encoded },
    ]);
  };
  let notify = (): void => undefined;
  const nextNotice = (): Promise<void> => new Promise((resolve) => (notify = resolve));
  let notices = 0;
  watchWork(log, () => {
    notices += 1;
    notify();
  });
  const begun = nextNotice();
  await record({ type: 'ExecutionCreated', data: created });
  await begun;
  await record({
    type: 'ExecutionTagged',
    data: { $typeName: 'platformidl.eventlog.ExecutionTagged', tags: ['nightly'], principal: '' },
  });
  const ended = nextNotice();
  const { cause, principal } = termination;
  await record({
    type: 'TerminationRequested',
    data: { $typeName: 'platformidl.eventlog.TerminationRequested', cause, principal, timedOut: false },
  });
  await ended;
  expect(notices).toBe(2);
  await log.close();
  rmSync(directory, { recursive: true });
});
