import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';

import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { NEWEST_FORMAT } from '../../../services/kernel/log-format.js';
import { streamName } from '../../../services/kernel/stream.js';
import { beginLog } from '../../../services/main/log/begin-log.js';
import { projectStream } from '../../../services/project/events.js';
import { followFormat, type FormatInForce } from '../../../services/reference/format-in-force.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { newEvent, openEmptyLog } from '../../support/streams/filled-log.js';

const configured = { projects: [{ id: 'flytesnacks', name: 'flytesnacks', description: '' }] };
const foreign = streamName('inventory', ['hammer']);

let directory: string;
let store: EventStore;
let format: FormatInForce;
let sessions: OpenSessions;

const begin = (): Promise<boolean> => beginLog(configured, { store, sessions, format });

const eventsOf = async (stream: ReturnType<typeof streamName>): Promise<readonly string[]> => {
  const types: string[] = [];
  for await (const page of store.readStream(stream)) types.push(...page.map(({ type }) => type));
  return types;
};

beforeEach(async () => {
  ({ directory, store } = await openEmptyLog());
  format = await followFormat(store);
  const payloads = filePayloadStore({ directory });
  sessions = openSessions({ store, payloads, now: Date.now, isShared: false, format: format.format });
});

afterEach(async () => {
  await format.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

it('a log that has only events of other writers gets the configured projects and the newest format', async () => {
  await store.append(foreign, 'any', [newEvent('HammerStored', Buffer.from('{}'))]);
  expect(await begin()).toBe(true);
  expect(format.format()).toBe(NEWEST_FORMAT);
  expect(await eventsOf(projectStream('flytesnacks'))).toEqual(['ProjectRegistered']);
  expect(await begin()).toBe(false);
});

it('a log that a control plane of an older release has written stays in its format', async () => {
  await store.append(projectStream('other'), 'any', [newEvent('ProjectRegistered', Buffer.alloc(0))]);
  expect(await begin()).toBe(false);
  expect([format.format(), await eventsOf(projectStream('flytesnacks'))]).toEqual([1, []]);
});
