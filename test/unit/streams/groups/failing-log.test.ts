import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { OutcomeUnknown, StoreUnavailable } from '../../../../services/kernel/fault.js';
import type { EventStore } from '../../../../services/kernel/ports/event-store.js';
import { type StreamName, streamName } from '../../../../services/kernel/stream.js';
import type { ConsumerConnection } from '../../../../services/streams/eventstore/groups/delivery/delivery-queue.js';
import {
  checkpointStreamOf,
  CONFIGURATION_STREAM,
  parkedStreamOf,
} from '../../../../services/streams/eventstore/groups/group-name.js';
import {
  type GroupRegistry,
  type NewGroup,
  openGroups,
} from '../../../../services/streams/eventstore/groups/groups.js';
import { storedForm } from '../../../../services/streams/eventstore/recorded.js';
import { openStreamRules } from '../../../../services/streams/eventstore/stream-rules.js';
import { newEvent, openEmptyLog } from '../../../support/streams/filled-log.js';

const SETTINGS: NewGroup['settings'] = {
  ...{ resolveLinks: false, extraStatistics: false, messageTimeoutMs: 30_000, maxRetryCount: 10 },
  ...{ checkpointAfterMs: 1_000, minCheckpointCount: 1, maxCheckpointCount: 10, maxSubscriberCount: 0 },
  ...{ liveBufferSize: 100, readBatchSize: 10, historyBufferSize: 100, strategy: 'RoundRobin' },
};

const away = (): StoreUnavailable => new StoreUnavailable('the log is away');

describe('a consumer group whose log fails', () => {
  let directory: string;
  let store: EventStore;
  let groups: GroupRegistry;
  let group: NewGroup & { readonly source: StreamName };
  /** Replaced by a test to make calls fail. */
  let failing: Partial<Pick<EventStore, 'append' | 'head' | 'readStream'>>;

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
    failing = {};
    const log = Object.assign(Object.create(store) as EventStore, {
      append: (...asked: Parameters<EventStore['append']>) => failing.append?.(...asked) ?? store.append(...asked),
      head: () => failing.head?.() ?? store.head(),
      readStream: (...asked: Parameters<EventStore['readStream']>) =>
        failing.readStream?.(...asked) ?? store.readStream(...asked),
    });
    const rules = await openStreamRules(store);
    const reading = { log, rules, present: storedForm, now: Date.now };
    const services = { ...reading, newId: () => randomBytes(16), append: log.append.bind(log) };
    groups = await openGroups(services, { error: () => undefined });
    const source = streamName('counted', [randomUUID()]);
    await store.append(source, 'no-stream', [newEvent('Counted', Buffer.from('{}'))]);
    group = { source, group: 'workers', settings: SETTINGS, filter: undefined, from: 'start' };
    await groups.create(group);
  });
  afterEach(async () => {
    failing = {};
    await groups.closeAll(() => new Error('closed'));
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Connects a consumer; gives its failures, and the ids of the events that it is sent. */
  const connected = async () => {
    const [ids, failures]: [string[], unknown[]] = [[], []];
    const connection: ConsumerConnection = {
      ...{ from: '127.0.0.1:1', connectionName: '' },
      send: ({ id }) => Promise.resolve(void ids.push(Buffer.from(id).toString('hex'))),
      fail: (error) => void failures.push(error),
    };
    const consumer = (await groups.running(group)).connect(connection, 10);
    return { consumer, ids, failures };
  };

  it('can be opened after the head of the log could not be read', async () => {
    failing.head = () => Promise.reject(away());
    await expect(groups.running(group)).rejects.toThrow(StoreUnavailable);
    failing = {};
    const { ids } = await connected();
    await expect.poll(() => ids.length).toBe(1);
  });

  it('reads again for a consumer that connects after a read has failed', async () => {
    failing.readStream = (name, options) => {
      if (name === group.source) throw new Error('the stream cannot be read');
      return store.readStream(name, options);
    };
    const { failures } = await connected();
    await expect.poll(() => failures.length).toBe(1);
    failing = {};
    const { ids } = await connected();
    await expect.poll(() => ids.length).toBe(1);
    expect(await (await groups.running(group)).lag()).toBe(1n);
  });

  it('closes while its progress cannot be recorded, when the time for that is over', async () => {
    failing.append = (name, ...asked) =>
      name === checkpointStreamOf(group) ? Promise.reject(away()) : store.append(name, ...asked);
    const { consumer, ids } = await connected();
    await expect.poll(() => ids.length).toBe(1);
    consumer.acknowledge(ids);
    await groups.closeAll(() => new Error('closed'), AbortSignal.timeout(100));
    failing = {};
    const again = await connected();
    await expect.poll(() => again.ids.length).toBe(1);
  });

  it('records its progress for a consumer that connects after a recording has failed', async () => {
    failing.append = (name, ...asked) =>
      name === checkpointStreamOf(group) ? Promise.reject(new Error('no append')) : store.append(name, ...asked);
    const { consumer, ids, failures } = await connected();
    await expect.poll(() => ids.length).toBe(1);
    consumer.acknowledge(ids);
    await expect.poll(() => failures.length).toBe(1);
    failing = {};
    await connected();
    const running = await groups.running(group);
    await expect.poll(() => running.checkpoint()).toBe(0n);
  });

  it('parks an event after its link could not be appended', async () => {
    failing.append = (name, ...asked) =>
      name === parkedStreamOf(group) ? Promise.reject(new Error('no append')) : store.append(name, ...asked);
    const { consumer, ids, failures } = await connected();
    await expect.poll(() => ids.length).toBe(1);
    consumer.refuse(ids, 'park', 'cannot be processed');
    await expect.poll(() => failures.length).toBe(1);
    failing = {};
    await connected();
    const running = await groups.running(group);
    await expect.poll(() => running.counts().parked).toBe(1);
  });

  it('parks an event with a reason that is larger than an append can be', async () => {
    const { consumer, ids } = await connected();
    await expect.poll(() => ids.length).toBe(1);
    consumer.refuse(ids, 'park', '\u0001'.repeat(2_000_000));
    const running = await groups.running(group);
    await expect.poll(() => running.counts().parked).toBe(1);
  });

  it('loses its consumers when it is not known whether it was deleted', async () => {
    const { failures } = await connected();
    failing.append = async (name, ...asked) => {
      const appended = await store.append(name, ...asked);
      if (name === CONFIGURATION_STREAM) throw new OutcomeUnknown('no answer');
      return appended;
    };
    await expect(groups.remove(group)).rejects.toThrow(OutcomeUnknown);
    expect(failures.length).toBe(1);
    await expect(groups.running(group)).rejects.toThrow('does not exist');
  });

  it('is closed also while its answers cannot be recorded, when it is not known whether it was deleted', async () => {
    const { consumer, ids, failures } = await connected();
    await expect.poll(() => ids.length).toBe(1);
    failing.append = () => Promise.reject(new OutcomeUnknown('no answer'));
    consumer.acknowledge(ids);
    await expect(groups.remove(group)).rejects.toThrow(OutcomeUnknown);
    expect(failures).toHaveLength(1);
    failing = {};
    await groups.running(group);
  });

  it('may wait 25 days for an answer without a timer that overflows', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', onWarning);
    const settings = { ...SETTINGS, messageTimeoutMs: 2 ** 31 }; // one more than the longest delay of a timer
    await groups.update({ ...group, settings });
    const { ids } = await connected();
    await expect.poll(() => ids.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});
