import type { Transaction } from 'kafkajs';
import { afterEach, expect, it, vi } from 'vitest';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { exportPartition } from '../../../services/reactors/export-to-kafka/partition.js';
import { until } from '../../support/until.js';
import { emptyCluster } from './cluster.js';

const HOUR_MS = 3_600_000;

afterEach(() => void vi.useRealTimers());

it('counts as behind since the end of its standby, not since another process took over', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const begunMs = Date.now();
  let opened = 0;
  let endSecond = (): void => undefined;
  const transaction = (): Promise<Transaction> => {
    opened += 1;
    if (opened === 1) return Promise.reject(Object.assign(new Error('fenced'), { type: 'PRODUCER_FENCED' }));
    return new Promise((_, reject) => {
      endSecond = () => reject(new Error('the test has ended'));
    });
  };
  const log = {
    logId: '4840a941-dec6-4d4b-b036-6929f53bff43',
    // Called on standby: an hour passes there.
    head: () => {
      vi.setSystemTime(begunMs + HOUR_MS);
      return Promise.resolve(0n);
    },
  } as unknown as EventLog;
  const failures: unknown[] = [];
  const partition = exportPartition(0, {
    kafka: emptyCluster({ 'a.execution.v1': 'delete', 'a.export.positions.v1': 'compact' }, 900_000, { transaction }),
    log,
    topics: { prefix: 'a', partitions: 1, replicationFactor: -1 },
    messages: {
      follow: () => {
        throw new Error('nothing is published');
      },
    },
    categories: ['execution'],
    partitions: 1,
    worker: 'one',
    brokers: [],
    standbyMs: 1,
    onFailure: (error) => failures.push(error),
    onTakenOver: () => undefined,
  });
  await until(
    () => Promise.resolve(opened),
    (times) => times === 2,
  );
  expect(partition.behindSinceMs()).toBe(begunMs + HOUR_MS);
  const closing = partition.close();
  endSecond();
  await closing;
  expect(failures).toEqual([]);
});
