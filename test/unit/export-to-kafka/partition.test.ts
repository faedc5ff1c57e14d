import type { Transaction } from 'kafkajs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { exportPartition, type PartitionOptions } from '../../../services/reactors/export-to-kafka/partition.js';
import { until } from '../../support/until.js';
import { emptyCluster } from './cluster.js';

const MAX_MESSAGE_BYTES = 900_000;
const HOUR_MS = 3_600_000;
const TOPICS = { 'a.execution.v1': 'delete', 'a.export.positions.v1': 'compact' } as const;
const LOG_ID = '4840a941-dec6-4d4b-b036-6929f53bff43';

const OPTIONS: Omit<PartitionOptions, 'kafka' | 'log' | 'onFailure'> = {
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
  onTakenOver: () => undefined,
};

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

it('an exported partition counts as behind since the end of its standby, not since another process took over', async () => {
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
    logId: LOG_ID,
    // Called on standby: an hour passes there.
    head: () => {
      vi.setSystemTime(begunMs + HOUR_MS);
      return Promise.resolve(0n);
    },
  } as unknown as EventLog;
  const failures: unknown[] = [];
  const partition = exportPartition(0, {
    ...OPTIONS,
    kafka: emptyCluster(TOPICS, MAX_MESSAGE_BYTES, { transaction }),
    log,
    onFailure: (error) => failures.push(error),
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

it('an exported partition counts failures in a row also where each attempt to reach the brokers takes long', async () => {
  /** The number of failures in a row, at each failure. */
  const failuresInARow: number[] = [];
  const connect = (): Promise<void> => {
    vi.setSystemTime(Date.now() + 20_000);
    return Promise.reject(new Error('no broker answers'));
  };
  const partition = exportPartition(0, {
    ...OPTIONS,
    kafka: emptyCluster(TOPICS, MAX_MESSAGE_BYTES, { connect }),
    log: { logId: LOG_ID } as unknown as EventLog,
    onFailure: (_, inARow) => failuresInARow.push(inARow),
  });
  await until(
    () => Promise.resolve(failuresInARow.length),
    (count) => count >= 2,
  );
  await partition.close();
  expect(failuresInARow.slice(0, 2)).toEqual([1, 2]);
});
