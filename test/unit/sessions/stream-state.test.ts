import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { Idempotency } from '../../../services/kernel/idempotency.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { StreamState } from '../../../services/sessions/stream-state.js';
import type { CommandTurn } from '../../../services/sessions/turn.js';
import { purse, type PurseCommand, type PurseRefusal } from '../../support/streams/purse.js';

const stream: StreamName = streamName('purse', ['observed']);

/** The event at a revision of the stream, in which each event adds a coin. */
const coin = (revision: number): RecordedEvent => ({
  ...{ stream, id: Buffer.alloc(16, revision), type: 'CoinAdded', data: new Uint8Array() },
  metadata: JSON.stringify({ recordedAtMs: 1_000, actor: '', commandId: 'c', schema: 1 }),
  ...{ revision: BigInt(revision), position: BigInt(revision + 1) },
});
const coins = (from: number, count: number): RecordedEvent[] =>
  Array.from({ length: count }, (_, at) => coin(from + at));

/** The state of a stream whose log has one event. */
const newState = () => {
  const store = {
    async *readStream() {
      yield await Promise.resolve([coin(0)]);
    },
  };
  return new StreamState({ aggregate: purse, stream, store, now: () => 1_000 });
};
type Opened = ReturnType<typeof newState>;

/** The state of the stream after its one event was read. */
const foldedState = async (): Promise<Opened> => {
  const state = newState();
  await state.fold();
  return state;
};
/** Observes events while the stream is busy, so that they are kept, and then folds them. */
const observe = (state: Opened, events: readonly RecordedEvent[]): void => {
  for (const event of events) state.observe(event, true);
  state.foldObserved();
};

describe('the events that are observed of a stream', () => {
  it('are folded in order, once each', async () => {
    const state = await foldedState();
    observe(state, [coin(0), coin(1), coin(2), coin(2)]);
    expect(state.folded).toEqual({ state: { coins: 3 }, revision: 2n });
    expect(state.position).toBe(3n);
  });

  it('are kept while a cold stream is read, and not while it is idle', async () => {
    const reading = newState();
    reading.observe(coin(1), true);
    await reading.fold();
    reading.foldObserved();
    expect(reading.folded?.revision).toBe(1n);
    const idle = newState();
    idle.observe(coin(1), false);
    await idle.fold();
    idle.foldObserved();
    expect(idle.folded?.revision).toBe(0n);
  });

  it('are at most 1,000 at once; with more, the state is dropped', async () => {
    const most = await foldedState();
    observe(most, coins(1, 1_000));
    expect(most.folded?.revision).toBe(1_000n);
    const more = await foldedState();
    observe(more, coins(1, 1_001));
    expect(more.folded).toBeUndefined();
  });

  it('do not count for this limit when the state has them', async () => {
    const state = await foldedState();
    observe(state, [...Array.from({ length: 1_000 }, () => coin(0)), coin(1), coin(2)]);
    expect(state.folded?.revision).toBe(2n);
  });

  it('leave the stream to be read again where one is missing or cannot be decoded', async () => {
    const gap = await foldedState();
    observe(gap, [coin(2), coin(3)]);
    expect(gap.folded).toBeUndefined();
    const broken = await foldedState();
    observe(broken, [{ ...coin(1), metadata: 'no JSON' }]);
    expect(broken.folded).toBeUndefined();
  });

  it('drop the state of a stream that was presumed absent', () => {
    const state = newState();
    state.presumeAbsent();
    observe(state, [coin(0)]);
    expect(state.folded).toBeUndefined();
  });
});

describe('the earlier use of an idempotency key', () => {
  const turn = (idempotency?: Idempotency): CommandTurn<PurseCommand, PurseRefusal> => ({
    ...{ kind: 'command', command: { kind: 'add' }, ticket: 1, attempts: 0 },
    context: { actor: 'ada', commandId: 'c', ...(idempotency && { idempotency }) },
    ...{ resolve: () => undefined, reject: () => undefined },
  });

  it('is none before the stream was read, where no event has a key, and without a key', async () => {
    const given = { key: 'k', operation: 'Add', content: 'c' };
    expect(newState().priorUseBy(turn(given))).toBe('none');
    const state = await foldedState();
    expect(state.priorUseBy(turn(given))).toBe('none');
    expect(state.priorUseBy(turn())).toBe('none');
  });
});
