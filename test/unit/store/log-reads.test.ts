import { UnknownError } from '@eventstore/db-client';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { readLogUpTo } from '../../../services/store/eventstore/log-reads.js';
import { readLogBackwards } from '../../../services/store/eventstore/read-backwards.js';
import { eventAt, scriptedConnection, type ScriptedRead } from './scripted-reads.js';

/** The error of a server for a position without an event, and for some failures that have nothing to do with it. */
const noSuchPosition = (): Error => new UnknownError(undefined, 'Exception was thrown by handler.');

/** The positions from one to another, both included. */
const positions = (from: number, to: number): bigint[] =>
  Array.from({ length: to - from + 1 }, (_, i) => BigInt(from + i));

/**
 * Reads the log after a position up to position 1000; returns the positions of the events, and the error of the read.
 */
const readAfter = async (after: bigint, reads: readonly ScriptedRead[]) => {
  const found: bigint[] = [];
  try {
    for await (const { events } of readLogUpTo(scriptedConnection(reads), { after }, 1_000n))
      found.push(...events.map(({ position }) => position));
    return { found };
  } catch (error) {
    return { found, error };
  }
};

describe('a read of the log of an event store', () => {
  it('starts at the event before a position that has no event', async () => {
    const { found } = await readAfter(5n, [
      { answers: [], error: noSuchPosition() },
      { answers: [eventAt(7n), eventAt(4n)] },
      { answers: [eventAt(4n), eventAt(7n), eventAt(1_000n)] },
    ]);
    expect(found).toEqual([7n, 1_000n]);
  });

  it('that fails after its first page is not begun again: no event comes twice', async () => {
    // 200 events are a page.
    const { found, error } = await readAfter(5n, [
      { answers: positions(6, 205).map(eventAt), error: noSuchPosition() },
      { answers: [eventAt(7n), eventAt(4n)] },
      { answers: positions(4, 205).map(eventAt) },
    ]);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(found).toEqual(positions(6, 205));
  });
});

it('a read backwards gives no event that was appended meanwhile at or after its start', async () => {
  const connection = scriptedConnection([
    { answers: [], error: noSuchPosition() },
    { answers: [eventAt(4n)] },
    { answers: [eventAt(7n), eventAt(4n)] },
  ]);
  const found: bigint[] = [];
  for await (const events of readLogBackwards(connection, { before: 5n }))
    found.push(...events.map(({ position }) => position));
  expect(found).toEqual([4n]);
});
