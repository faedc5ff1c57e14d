import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { EventStore } from '../../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../../services/kernel/stream.js';
import type { ConsumerConnection } from '../../../../services/streams/eventstore/groups/delivery/delivery-queue.js';
import {
  type GroupRegistry,
  type NewGroup,
  openGroups,
} from '../../../../services/streams/eventstore/groups/groups.js';
import { storedForm } from '../../../../services/streams/eventstore/recorded.js';
import { openStreamRules } from '../../../../services/streams/eventstore/stream-rules.js';
import { newEvent, openEmptyLog } from '../../../support/streams/filled-log.js';

const TIMEOUT_MS = 100;

const SETTINGS: NewGroup['settings'] = {
  ...{ resolveLinks: false, extraStatistics: false, messageTimeoutMs: TIMEOUT_MS, maxRetryCount: 10 },
  ...{ checkpointAfterMs: 1_000, minCheckpointCount: 1, maxCheckpointCount: 10, maxSubscriberCount: 0 },
  ...{ liveBufferSize: 100, readBatchSize: 10, historyBufferSize: 100, strategy: 'RoundRobin' },
};

describe('a consumer that does not read its events in time', () => {
  let directory: string;
  let store: EventStore;
  let groups: GroupRegistry;
  const source = streamName('counted', [randomUUID()]);
  const group: NewGroup = { source, group: 'workers', settings: SETTINGS, filter: undefined, from: 'start' };

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
    const rules = await openStreamRules(store);
    const services = { log: store, rules, present: storedForm, now: Date.now, newId: () => randomBytes(16) };
    groups = await openGroups({ ...services, append: store.append.bind(store) }, { error: () => undefined });
    const events = Array.from({ length: 2 }, () => newEvent('Counted', Buffer.from('{}')));
    await store.append(source, 'no-stream', events);
    await groups.create(group);
  });
  afterEach(async () => {
    await groups.closeAll(() => new Error('closed'));
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /**
   * Connects a consumer, which has read an event when the promise of `taken` resolves; gives what it was sent: the
   * revision of each event, and its id.
   */
  const connected = async (bufferSize: number, taken: () => Promise<void>) => {
    const got: { readonly revision: bigint; readonly id: string }[] = [];
    const connection: ConsumerConnection = {
      ...{ from: '127.0.0.1:1', connectionName: '', fail: () => undefined },
      send: ({ id, revision }) => {
        got.push({ revision, id: Buffer.from(id).toString('hex') });
        return taken();
      },
    };
    const consumer = (await groups.running(group)).connect(connection, bufferSize);
    return { got, acknowledge: () => consumer.acknowledge(got.map(({ id }) => id)) };
  };

  it('gets none of them that another consumer has acknowledged meanwhile', async () => {
    let finishRead = (): void => undefined;
    const slow = await connected(2, () => new Promise((resolve) => (finishRead = resolve)));
    await expect.poll(() => slow.got.length).toBe(1);
    const running = await groups.running(group);
    const other = await connected(10, () => Promise.resolve());
    await expect.poll(() => other.got.length, { timeout: 3_000 }).toBeGreaterThan(0);
    for (let tries = 0; running.checkpoint() !== 1n && tries < 100; tries += 1) {
      other.acknowledge();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(running.checkpoint()).toBe(1n);
    finishRead(); // from here on the group could send the second event
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(slow.got.map(({ revision }) => revision)).toEqual([0n]);
  });
});
