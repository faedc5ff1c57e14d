import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogFormatSetSchema } from '../../../proto/gen/platformidl/eventlog/log_format_pb.js';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import { executionStream } from '../../support/streams/filled-log.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { NewEvent } from '../../../services/kernel/event.js';
import { NewerLogFormat } from '../../../services/kernel/fault.js';
import { NEWEST_FORMAT } from '../../../services/kernel/log-format.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { logFormatDecider, setLogFormat } from '../../../services/log-format/decider.js';
import { LOG_FORMAT_STREAM, type LogFormatEvent } from '../../../services/log-format/events.js';
import { followFormat, type FormatInForce } from '../../../services/reference/format-in-force.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { given } from '../../support/streams/given.js';
import { newEvent } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';
import { creation, workflow } from '../execution/reports.js';

const set = (format: number): LogFormatEvent => ({
  type: 'LogFormatSet',
  data: create(LogFormatSetSchema, { format }),
});

describe('the format of a log', () => {
  it('is the first one until it is set, and is set once', () => {
    given(logFormatDecider).when({ type: 'SetLogFormat', format: 1 }).thenNothing();
    given(logFormatDecider).when({ type: 'SetLogFormat', format: 2 }).then(set(2));
    given(logFormatDecider, set(2)).when({ type: 'SetLogFormat', format: 2 }).thenNothing();
  });

  it('is never lowered', () => {
    given(logFormatDecider, set(2))
      .when({ type: 'SetLogFormat', format: 1 })
      .thenRefused({ kind: 'format-lowered', inForce: 2 });
  });
});

describe('a process that writes the log', () => {
  let directory: string;
  let store: EventStore;
  let inForce: FormatInForce;
  let sessions: OpenSessions;

  const noPayloads: PayloadStore = {
    put: () => Promise.reject(new Error('nothing is large here')),
    get: () => Promise.resolve(undefined),
    close: () => Promise.resolve(),
  };

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-format-'));
    store = await sqliteEventStore({ directory });
    inForce = await followFormat(store);
    sessions = openSessions({ store, payloads: noPayloads, now: Date.now, isShared: true, format: inForce.format });
  });

  afterEach(async () => {
    await inForce.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Records the format as another process does. */
  const recordFormat = (format: number): Promise<unknown> =>
    store.append(LOG_FORMAT_STREAM, 'any', [
      newEvent('LogFormatSet', toBinary(LogFormatSetSchema, create(LogFormatSetSchema, { format }))),
    ]);

  const stream = executionStream('a1');
  /** Handles a command of an execution in a new request. */
  const ask = (command: typeof creation | ReturnType<typeof workflow>) =>
    sessions.handle(executionAggregate({ payloads: noPayloads }), stream, command, {
      actor: '',
      commandId: randomUUID(),
    });

  const types = async (): Promise<readonly string[]> => {
    const events: NewEvent[] = [];
    for await (const page of store.readStream(stream)) events.push(...page);
    return events.map(({ type }) => type);
  };

  // Format 1 has one type of report, `EngineReported`; format 2 has a type for each entity.
  it('writes events in the format of the log, and follows a change of it while it runs', async () => {
    await ask(creation);
    await ask(workflow('QUEUED'));
    await recordFormat(2);
    await until(
      () => Promise.resolve(inForce.format()),
      (format) => format === 2,
    );
    await ask(workflow('RUNNING'));
    expect(await types()).toEqual(['ExecutionCreated', 'EngineReported', 'WorkflowPhaseReported']);
  });

  it('knows the format that was set before it started, and the one that it sets itself', async () => {
    await setLogFormat(NEWEST_FORMAT, sessions, { actor: '', commandId: 'c1' });
    await inForce.refresh();
    const later = await followFormat(store);
    expect([inForce.format(), later.format()]).toEqual([NEWEST_FORMAT, NEWEST_FORMAT]);
    await later.close();
  });

  it.each([
    ['a format that it does not know', () => recordFormat(NEWEST_FORMAT + 1)],
    [
      'an event about the format of a type that it does not know',
      () => store.append(LOG_FORMAT_STREAM, 'any', [newEvent('LogFormatReplaced', new Uint8Array())]),
    ],
  ])('records nothing after %s', async (_, record) => {
    await record();
    await inForce.refresh();
    await expect(ask(creation)).rejects.toBeInstanceOf(NewerLogFormat);
    expect(await types()).toEqual([]);
  });
});
