import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { appendInGroups, type Batch } from '../../../services/cli/log/append-groups.js';
import type { StreamName } from '../../../services/kernel/stream.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';

const LIMITS = { appends: 3, bytes: 1_000 };

const batchOf = (number: number): Batch => {
  const stream = `counted-${number}` as StreamName;
  const event = { id: randomBytes(16), type: 'Counted', data: Buffer.alloc(10), metadata: '{}' };
  return { stream, events: [{ ...event, stream, revision: 0n, position: BigInt(number) }], bytes: 10 };
};

/** The batches at the positions 1 to `count`. */
async function* batches(count: number): AsyncGenerator<Batch> {
  for (let number = 1; number <= count; number += 1) yield await Promise.resolve(batchOf(number));
}

const positionOf = ({ events }: Batch): bigint => events[0]?.position ?? 0n;

it('after an append has failed, none of a later group begins', async () => {
  const [begun, appended]: [bigint[], bigint[]] = [[], []];
  const append = (batch: Batch): Promise<void> => {
    begun.push(positionOf(batch));
    return positionOf(batch) === 5n ? Promise.reject(new Error('the disk is full')) : Promise.resolve();
  };
  const onAppended = (position: bigint): void => void appended.push(position);
  await expect(appendInGroups(batches(9), { append, onAppended, limits: LIMITS })).rejects.toThrow('the disk is full');
  expect(begun).toEqual([1n, 2n, 3n, 4n, 5n, 6n]);
  expect(appended).toEqual([1n, 2n, 3n, 4n]);
});

it('the embedded log commits each group in one transaction', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-append-groups-'));
  const log = await sqliteEventStore({ directory, synchronous: 'OFF' });
  try {
    await appendInGroups(batches(7), {
      append: ({ stream, events }) => log.append(stream, 'no-stream', events),
      onAppended: () => undefined,
      limits: LIMITS,
    });
    expect(await log.head()).toBe(7n);
    expect(log.commits()).toBe(3);
  } finally {
    await log.close();
    rmSync(directory, { recursive: true });
  }
});

it('a group ends with the append by which it reaches its bytes', async () => {
  const atOnce: number[] = [];
  let inFlight = 0;
  const append = async (): Promise<void> => {
    inFlight += 1;
    atOnce.push(inFlight);
    await Promise.resolve();
    inFlight -= 1;
  };
  await appendInGroups(batches(5), { append, onAppended: () => undefined, limits: { appends: 100, bytes: 15 } });
  expect(atOnce).toEqual([1, 2, 1, 2, 1]);
});
