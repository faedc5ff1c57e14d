import { rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { operationsRoutes, type OperationsServices } from '../../../services/operations/rpc.js';
import { CorruptEvent } from '../../../services/kernel/fault.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { describedGroups } from '../../../services/streams/eventstore/groups/described-groups.js';
import {
  type ConfiguredGroup,
  type GroupEvent,
  groupEventJson,
} from '../../../services/streams/eventstore/groups/configuration.js';
import { CONFIGURATION_STREAM, checkpointStreamOf } from '../../../services/streams/eventstore/groups/group-name.js';
import { progressJson } from '../../../services/streams/eventstore/groups/progress.js';
import { executionStream, newEvent, openEmptyLog, report } from '../../support/streams/filled-log.js';

/** Services that have nothing to list. */
const none: OperationsServices = {
  engines: { known: () => Promise.resolve({ engines: [], waiting: 0 }) },
  unreadable: { inViews: () => Promise.resolve([]), inProcess: () => [], retries: () => Promise.resolve(new Map()) },
  consumers: { all: () => Promise.resolve([]) },
};

/** The answer of the RPC with this name. */
const ask = async (
  name: string,
  services: Partial<OperationsServices>,
  request: object = { limit: 0 },
): Promise<unknown> => {
  const route = operationsRoutes({ ...none, ...services }).find(({ method }) => method.name === name);
  return route?.handle(request as never, {} as never);
};

/** An engine that is not connected, has no leases and takes no executions, unless `more` says otherwise. */
const engine = (name: string, more: object) => ({
  ...{ group: 'default', engine: name, session: `session of ${name}`, isConnected: false, seenAtMs: 0, free: 0 },
  leased: [],
  ...more,
});

describe('the list of engines', () => {
  it('has those that are connected or have leases, by name, with at most `limit` executions of each', async () => {
    const leased = ['e1', 'e2', 'e3'].map((name) => ({ project: 'p', domain: 'd', name }));
    const engines = [engine('b', { isConnected: true, free: 7 }), engine('gone', {}), engine('a', { leased })];
    const known = () => Promise.resolve({ engines, waiting: 4 });
    const answer = await ask('ListEngines', { engines: { known } }, { limit: 2 });
    expect(answer).toMatchObject({
      waiting: 4,
      engines: [
        { engine: 'a', connected: false, leased: 3, executions: [{ name: 'e1' }, { name: 'e2' }] },
        { engine: 'b', connected: true, leased: 0, free: 7 },
      ],
    });
  });

  it('refuses a limit above 1,000', () =>
    expect(ask('ListEngines', {}, { limit: 1_001 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' }));
});

describe('the list of parked streams', () => {
  it('has each stream once, with the readers that have parked it, in the order of positions', async () => {
    const parked = (stream: string, position: bigint) => ({ stream, position, reason: `at ${position}` });
    const unreadable = {
      inViews: () => Promise.resolve([parked('both', 7n), parked('views', 9n)]),
      inProcess: () => [parked('process', 8n), parked('both', 5n)],
      retries: () => Promise.resolve(new Map([['process', { actor: 'ann', recordedAtMs: 1_000 }]])),
    };
    expect(await ask('ListParkedStreams', { unreadable }, { limit: 2 })).toMatchObject({
      total: 3,
      streams: [
        { stream: 'both', position: 5n, inViews: true, inProcess: true, retryRequestedBy: '' },
        {
          ...{ stream: 'process', position: 8n, inViews: false, inProcess: true },
          ...{ retryRequestedAt: { seconds: 1n }, retryRequestedBy: 'ann' },
        },
      ],
    });
  });
});

describe('the list of named consumers', () => {
  let directory: string;
  let store: EventStore;

  /** A consumer group that starts at the beginning of its source. */
  const configured = (source: string, group: string): ConfiguredGroup => ({
    ...{ source, group, id: randomUUID(), settings: {} as never, filter: undefined, parkedFrom: 0n },
    start: { asked: 'start', after: source === '$all' ? 0n : -1n }, // positions count from 1, revisions from 0
  });

  /** Records the event by which a group is created. */
  const recordCreation = async (group: ConfiguredGroup): Promise<void> => {
    const event: GroupEvent = { type: 'PersistentSubscriptionCreated', group };
    await store.append(CONFIGURATION_STREAM, 'any', [newEvent(event.type, Buffer.from(groupEventJson(event)))]);
  };

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
  });
  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  it('has the progress of each consumer in its source, from the log alone', async () => {
    await report(store, 1, 1, 5); // one stream with one batch of five events: the last revision is 4
    const group = configured(executionStream('e0'), 'billing');
    await recordCreation(group);
    await recordCreation(configured('$all', 'warehouse'));
    const progress = {
      ...{ upTo: 3n, pending: [{ at: 2n, retries: 0 }], parkedUpTo: 4n, replayedUpTo: 1n, replayUntil: 1n },
    };
    const event = newEvent('PersistentSubscriptionProgressed', Buffer.from(progressJson(group.id, progress)));
    await store.append(checkpointStreamOf(group), 'any', [event]);
    // The checkpoint is before the event at revision 2, which is pending; of four parked events one was replayed.
    expect(await describedGroups(store)).toEqual([
      { source: executionStream('e0'), group: 'billing', checkpoint: 1n, last: 4n, pending: 1, parked: 3 },
      { source: '$all', group: 'warehouse', checkpoint: undefined, last: await store.head(), pending: 0, parked: 0 },
    ]);
  });

  it('has a consumer of a stream that was deleted in the EventStoreDB, which has no last event then', async () => {
    const deleted = streamName('orders', ['deleted']);
    for (const source of [deleted, '$all']) await recordCreation(configured(source, 'billing'));
    const readStream: EventStore['readStream'] = (stream, options) => {
      if (stream === deleted) throw new CorruptEvent('a stream was deleted in the event store');
      return store.readStream(stream, options);
    };
    const log = Object.assign(Object.create(store) as EventStore, { readStream, head: () => store.head() });
    expect(await describedGroups(log)).toMatchObject([
      { source: deleted, last: undefined, pending: 0, parked: 0 },
      { source: '$all', last: await store.head() },
    ]);
  });
});
