import { rmSync } from 'node:fs';

import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { ProjectSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { NEWEST_FORMAT } from '../../../services/kernel/log-format.js';
import { streamName } from '../../../services/kernel/stream.js';
import { LOG_FORMAT_STREAM } from '../../../services/log-format/events.js';
import { beginLog } from '../../../services/main/log/begin-log.js';
import { projectAggregate } from '../../../services/project/decider.js';
import { projectStream } from '../../../services/project/events.js';
import { followFormat, type FormatInForce } from '../../../services/reference/format-in-force.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { newEvent, openEmptyLog } from '../../support/streams/filled-log.js';

const named = (id: string) => ({ id, name: id, description: '' });
const oneProject = { projects: [named('flytesnacks')] };
const twoProjects = { projects: [named('flytesnacks'), named('billing')] };
/** A stream that another program writes. */
const foreign = streamName('inventory', ['hammer']);

let directory: string;
let store: EventStore;
let format: FormatInForce;
let sessions: OpenSessions;

/** Begins the log with one project; gives true when this start has begun it. */
const begin = (): Promise<boolean> => beginLog(oneProject, { store, sessions, format });

/** Begins the log with two projects, in a process that fails before it has written to the stream. */
const failAt = (failing: ReturnType<typeof streamName>): Promise<boolean> => {
  const handle: OpenSessions['handle'] = (aggregate, stream, ...rest) =>
    stream === failing
      ? Promise.reject(new StoreUnavailable('the process fails'))
      : sessions.handle(aggregate, stream, ...rest);
  return beginLog(twoProjects, { store, sessions: { ...sessions, handle }, format });
};

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

it.each([
  ['the format', LOG_FORMAT_STREAM],
  ['the first project', projectStream('flytesnacks')],
  ['the last project', projectStream('billing')],
])('a start that fails before it has recorded %s is continued by the next one', async (_, stream) => {
  await expect(failAt(stream)).rejects.toThrow(StoreUnavailable);
  expect(await beginLog(twoProjects, { store, sessions, format })).toBe(true);
  expect([format.format(), await eventsOf(LOG_FORMAT_STREAM)]).toEqual([NEWEST_FORMAT, ['LogFormatSet']]);
  for (const { id } of twoProjects.projects) expect(await eventsOf(projectStream(id))).toEqual(['ProjectRegistered']);
});

it('a log in which a control plane has recorded anything else does not get projects that are configured later', async () => {
  await begin();
  const command = { actor: '', commandId: 'a request' };
  const project = create(ProjectSchema, named('own'));
  await sessions.handle(projectAggregate, projectStream('own'), { type: 'RegisterProject', project }, command);
  expect(await beginLog(twoProjects, { store, sessions, format })).toBe(false);
  expect(await eventsOf(projectStream('billing'))).toEqual([]);
});
