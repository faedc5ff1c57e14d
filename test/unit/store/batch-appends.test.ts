import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BatchAppendRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import { isConnectionLost, isOutcomeUnknown } from '../../../services/store/eventstore/eventstore-fault.js';
import type { NodeClient } from '../../../services/store/eventstore/nodes/node-client.js';
import { batchAppends } from '../../../services/store/eventstore/wire/batch-appends.js';
import type { CallListener } from '../../../services/store/eventstore/wire/call.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const append = { stream: 'counted-a', expected: 'any', events: [], deadlineSeconds: 0 } as const;

/** A node to which streams of appends are opened, and which answers only what a test has it answer. */
const startNode = () => {
  const calls: CallListener[] = [];
  const open: NodeClient['open'] = (_method, _requiresLeader, listener) => {
    calls.push(listener);
    const nothing = (): void => undefined;
    return { write: nothing, end: nothing, pause: nothing, resume: nothing, cancel: nothing };
  };
  /** Answers an append by its number in the stream of appends, from 1. */
  const answer = (correlation: bigint): void => {
    const value = { mostSignificantBits: 0n, leastSignificantBits: correlation };
    const answered = create(BatchAppendRespSchema, {
      correlationId: { value: { case: 'structured', value } },
      result: { case: 'success', value: { currentRevisionOption: { case: 'currentRevision', value: correlation } } },
    });
    calls.at(-1)!.onMessages([Buffer.from(toBinary(BatchAppendRespSchema, answered))]);
  };
  return { client: { open } as NodeClient, calls, answer };
};

it('an append that is not answered while others are fails alone, with an unknown outcome', async () => {
  const { client, calls, answer } = startNode();
  const appends = batchAppends(client);
  const lost = appends.append(append).catch((error: unknown) => error);
  for (let number = 2n; number <= 10n; number += 1n) {
    const other = appends.append(append);
    await vi.advanceTimersByTimeAsync(1_000);
    answer(number);
    expect(await other).toMatchObject({ revision: number });
  }
  const error = await lost;
  expect((error as Error).message).toBe('the event store has not answered an append for 8 s');
  expect([isOutcomeUnknown(error), isConnectionLost(error)]).toEqual([true, false]);
  answer(1n); // an answer that comes too late is ignored
  expect(calls).toHaveLength(1);
  calls[0]!.onEnd();
  expect(vi.getTimerCount()).toBe(0);
});
