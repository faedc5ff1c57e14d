import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConsumerGroup } from '../../../../services/streams/eventstore/groups/delivery/consumer-group.js';
import type { GroupRules } from '../../../../services/streams/eventstore/groups/delivery/delivery.js';
import { checkpointOf, progressAfter, withParked } from '../../../../services/streams/eventstore/groups/progress.js';

const RULES: GroupRules = {
  strategy: 'RoundRobin',
  maxRetryCount: 2,
  messageTimeoutMs: 1_000,
  maxConsumers: 0,
  readAhead: 20,
};

/** The progress of a group that has read nothing and parked nothing. */
const NOTHING_READ = progressAfter(-1n, 0n);

/** Events with these numbers, as they are read from the source; a Pinned group shares them by `bucket`. */
const fresh = (...numbers: readonly number[]) =>
  numbers.map((at) => ({ at: BigInt(at), bucket: at % 2, bytes: 100, content: `event ${at}` }));

/** A group that has read events, and has the consumer 1 with a buffer of ten. */
const openGroup = (rules: Partial<GroupRules> = {}, numbers: readonly number[] = [0, 1, 2, 3, 4]) => {
  const group = new ConsumerGroup<string>({ ...RULES, ...rules }, NOTHING_READ);
  group.connect(1, 10);
  group.offer(fresh(...numbers), BigInt(numbers.at(-1) ?? -1));
  return group;
};

/** Takes all deliveries: the consumer, the number of the event, and the retries when there are some. */
const delivered = (group: ConsumerGroup<string>, nowMs = 0): readonly string[] => {
  const texts: string[] = [];
  for (;;) {
    const next = group.nextDelivery(nowMs);
    if (next === undefined) return texts;
    texts.push(`${next.consumer}:${next.at}${next.retries > 0 ? `/${next.retries}` : ''}`);
  }
};

/** Records the progress of the group; `undefined` when there is nothing new to record. */
const record = (group: ConsumerGroup<string>) => {
  const recording = group.nextRecording();
  if (recording) group.recorded(recording.number);
  return recording?.progress;
};

describe('a group of consumers', () => {
  it('frees a slot of the buffer when the acknowledgement is recorded, and not before', () => {
    const group = new ConsumerGroup<string>(RULES, NOTHING_READ);
    group.connect(1, 2);
    group.offer(fresh(0, 1, 2), 2n);
    expect(delivered(group)).toEqual(['1:0', '1:1']);
    group.acknowledge(1, 0n);
    expect(delivered(group)).toEqual([]);
    const recording = group.nextRecording()!;
    expect(recording.progress).toMatchObject({ upTo: 1n, pending: [{ at: 1n, retries: 0 }] });
    expect(delivered(group)).toEqual([]);
    group.recorded(recording.number);
    expect(delivered(group)).toEqual(['1:2']);
  });

  it('reads no more events while those that were read ahead have 4 MiB or more', () => {
    const group = new ConsumerGroup<string>(RULES, NOTHING_READ);
    group.connect(1, 1);
    const [large, next] = fresh(0, 1).map((event) => ({ ...event, bytes: 3 * 1024 * 1024 }));
    group.offer([large!], 0n);
    expect(group.wanted()).toBe(RULES.readAhead - 1);
    group.offer([next!], 1n);
    expect(group.wanted()).toBe(0);
    expect(delivered(group)).toEqual(['1:0']);
    expect(group.wanted()).toBe(RULES.readAhead - 1);
  });

  it('delivers a retried event before the next ones, until it is parked', () => {
    const group = openGroup({ maxRetryCount: 1 });
    expect(delivered(group)).toHaveLength(5);
    group.offer(fresh(5), 5n);
    group.refuse(1, 1n, 'retry', 'why');
    expect(delivered(group)).toEqual(['1:1/1', '1:5']);
    group.refuse(1, 1n, 'retry', 'why');
    expect(group.nextParking()).toEqual({ at: 1n, reason: 'Reached retry count of 1', isNumbered: true });
    group.parked(1n);
    expect(record(group)).toMatchObject({
      parkedUpTo: 1n,
      pending: [0n, 2n, 3n, 4n, 5n].map((at) => ({ at, retries: 0 })),
    });
  });

  it('gives the events that a consumer has not answered when it leaves to another consumer', () => {
    const group = openGroup();
    delivered(group);
    group.acknowledge(1, 0n);
    group.disconnect(1);
    group.connect(2, 10);
    expect(delivered(group)).toEqual(['2:1/1', '2:2/1', '2:3/1', '2:4/1']);
  });

  it('tries an event again when its time is over, and takes no late answer to it', () => {
    const group = openGroup({}, [0]);
    delivered(group);
    expect(group.nextDueMs()).toBe(1_000);
    group.expire(999);
    expect(delivered(group)).toEqual([]);
    group.expire(1_000);
    group.acknowledge(1, 0n);
    expect(delivered(group, 1_000)).toEqual(['1:0/1']);
  });

  it('replays as many parked events as are asked for, the oldest first', () => {
    const group = openGroup({}, [0, 1, 2]);
    delivered(group);
    for (const at of [0n, 1n, 2n]) {
      group.refuse(1, at, 'park', 'why');
      group.parked(group.nextParking()!.at);
    }
    record(group);
    expect(group.counts()).toMatchObject({ parked: 3, inFlight: 0 });
    group.replay(2);
    expect(group.replayRange()).toEqual({ from: 0n, count: 2 });
    group.replayed(fresh(0, 1), 2n);
    expect(delivered(group)).toEqual(['1:0', '1:1']);
    expect(group.counts().parked).toBe(1);
    expect(record(group)).toMatchObject({ replayedUpTo: 2n, pending: [{ at: 0n }, { at: 1n }] });
  });

  it.each([
    ['RoundRobin', ['1:0', '2:2', '1:3', '2:4']],
    ['DispatchToSingle', ['1:0', '1:2', '2:3', '2:4']],
    ['Pinned', ['1:0', '1:2', '2:3', '2:5']],
  ] as const)('shares events among its consumers by %s', (strategy, expected) => {
    const group = new ConsumerGroup<string>({ ...RULES, strategy }, NOTHING_READ);
    group.connect(1, 2);
    group.connect(2, 2);
    group.offer(fresh(0, 2, 3, 4, 5), 5n);
    expect(delivered(group)).toEqual(expected);
  });

  it('passes over an event whose pinned consumer is busy, and does not lose it', () => {
    const group = new ConsumerGroup<string>({ ...RULES, strategy: 'Pinned' }, NOTHING_READ);
    group.connect(1, 1);
    group.connect(2, 5);
    group.offer(fresh(0, 2, 1, 3), 3n);
    expect(delivered(group)).toEqual(['1:0', '2:1', '2:3']);
    group.acknowledge(2, 3n);
    expect(record(group)?.pending.map(({ at }) => at)).toEqual([0n, 1n, 2n]);
    group.acknowledge(1, 0n);
    record(group);
    expect(delivered(group)).toEqual(['1:2']);
  });

  it('keeps a stream pinned to its consumer when another one connects, until the first one leaves', () => {
    const group = new ConsumerGroup<string>({ ...RULES, strategy: 'Pinned' }, NOTHING_READ);
    group.connect(1, 1);
    group.offer(fresh(1, 3), 3n);
    expect(delivered(group)).toEqual(['1:1']);
    group.connect(2, 5);
    expect(delivered(group)).toEqual([]);
    group.disconnect(1);
    expect(delivered(group)).toEqual(['2:1/1', '2:3']);
  });

  it('gives no further event to a consumer that does not read', () => {
    const group = openGroup();
    group.stall(1, true);
    expect(delivered(group)).toEqual([]);
    group.stall(1, false);
    expect(delivered(group)).toHaveLength(5);
  });

  it('takes no more consumers than its maximum', () => {
    const group = openGroup({ maxConsumers: 1 });
    expect(group.connect(2, 10)).toBe(false);
    group.disconnect(1);
    expect(group.connect(2, 10)).toBe(true);
  });

  it('has its checkpoint before its first pending event, or at the last one read where none is pending', () => {
    const progress = {
      ...progressAfter(9n, 0n),
      pending: [
        { at: 4n, retries: 1 },
        { at: 7n, retries: 0 },
      ],
    };
    expect(checkpointOf(progress)).toBe(3n);
    expect(checkpointOf(withParked(progress, [{ at: 4n }]))).toBe(6n);
    expect(checkpointOf({ ...progress, pending: [] })).toBe(9n);
  });
});

const STEP_KINDS = [
  ...(['connect', 'disconnect', 'acknowledge', 'skip', 'retry', 'park', 'stall', 'resume'] as const),
  ...(['deliver', 'late', 'link', 'save', 'restart', 'replay'] as const),
];

type StepKind = (typeof STEP_KINDS)[number];

/** Something that happens to a group; the number is a buffer size, or the index of a consumer or an event. */
type Step = { readonly what: StepKind; readonly number: number };

const anyStep: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(...STEP_KINDS),
  number: fc.integer({ min: 1, max: 6 }),
});

const EVENTS = 12;

/** A log with a group: what is durable survives a restart, all else is lost with the group. */
const world = (rules: GroupRules) => {
  let durable = NOTHING_READ;
  /** The parked events, in the order of the links to them. */
  const links: bigint[] = [];
  let group = new ConsumerGroup<string>(rules, durable);
  let now = 0;
  let nextId = 1;
  let consumers: { id: number; buffer: number }[] = [];
  let inFlight: { consumer: number; at: bigint }[] = [];
  /** Events whose acknowledgement or skip is durable. */
  const done = new Set<bigint>();
  /** Events that were acknowledged or skipped since the progress was recorded. */
  let answered: bigint[] = [];

  /** Reads as many events from the source as the group wants. */
  const read = (): void => {
    if (group.wanted() === 0) return;
    const from = Number(readUpTo) + 1;
    const numbers = Array.from({ length: Math.max(0, EVENTS - from) }, (_, at) => from + at).slice(0, group.wanted());
    readUpTo += BigInt(numbers.length);
    group.offer(fresh(...numbers), readUpTo);
  };
  let readUpTo = durable.upTo;
  /** Delivers all that the consumers have slots for, and checks the deliveries. */
  const deliver = (): void => {
    read();
    for (;;) {
      const next = group.nextDelivery(now);
      if (next === undefined) return;
      expect(done.has(next.at), `event ${next.at} is done and comes again`).toBe(false);
      inFlight = [...inFlight.filter(({ at }) => at !== next.at), { consumer: next.consumer, at: next.at }];
      for (const { id, buffer } of consumers)
        expect(inFlight.filter(({ consumer }) => consumer === id).length).toBeLessThanOrEqual(buffer);
    }
  };
  /** Answers one of the deliveries in flight. */
  const answer = (index: number, refusal?: 'skip' | 'retry' | 'park'): void => {
    const chosen = inFlight[index % Math.max(1, inFlight.length)];
    if (chosen === undefined || !group.has(chosen.consumer, chosen.at)) return;
    inFlight = inFlight.filter((each) => each !== chosen);
    if (refusal === undefined) group.acknowledge(chosen.consumer, chosen.at);
    else group.refuse(chosen.consumer, chosen.at, refusal, 'why');
    if (refusal === undefined || refusal === 'skip') answered.push(chosen.at);
  };
  /** Records the link to one event that is to be parked. */
  const link = (): void => {
    const parking = group.nextParking();
    if (parking === undefined) return;
    links.push(parking.at);
    group.parked(parking.at);
  };
  /** Records the progress, which is durable then. */
  const save = (): void => {
    const recording = group.nextRecording();
    if (recording === undefined) return;
    durable = recording.progress;
    for (const at of answered) done.add(at);
    answered = [];
    group.recorded(recording.number);
  };
  /** Opens the group again from what is durable: the recorded progress and the links. */
  const restart = (): void => {
    durable = withParked(
      durable,
      links.slice(Number(durable.parkedUpTo)).map((at) => ({ at })),
    );
    group = new ConsumerGroup(rules, durable);
    readUpTo = durable.upTo;
    consumers = [];
    inFlight = [];
    answered = [];
  };
  /** Replays all parked events. */
  const replay = (): void => {
    group.replay(Number.MAX_SAFE_INTEGER);
    const range = group.replayRange();
    if (range === undefined) return;
    const replayed = links.slice(Number(range.from), Number(range.from) + range.count);
    group.replayed(
      replayed.map((at) => ({ at, bucket: 0 })),
      range.from + BigInt(replayed.length),
    );
    save(); // a replay that is not recorded is lost with the group, and its events stay parked
  };
  /** Lets the time for the answers to all deliveries pass. */
  const late = (): void => {
    now += rules.messageTimeoutMs;
    group.expire(now);
    inFlight = inFlight.filter(({ consumer, at }) => group.has(consumer, at));
  };
  const connect = (buffer: number): void => {
    group.connect(nextId, buffer);
    consumers = [...consumers, { id: nextId, buffer }];
    nextId += 1;
  };
  const disconnect = (index: number): void => {
    const [gone] = consumers.splice(index % Math.max(1, consumers.length), 1);
    if (gone === undefined) return;
    inFlight = inFlight.filter(({ consumer }) => consumer !== gone.id);
    group.disconnect(gone.id);
  };
  const stall = (index: number, isStalled: boolean): void => {
    const chosen = consumers[index % Math.max(1, consumers.length)];
    if (chosen) group.stall(chosen.id, isStalled);
  };
  const effects: Readonly<Record<StepKind, (number: number) => void>> = {
    connect,
    disconnect,
    acknowledge: (index) => answer(index),
    skip: (index) => answer(index, 'skip'),
    retry: (index) => answer(index, 'retry'),
    park: (index) => answer(index, 'park'),
    stall: (index) => stall(index, true),
    resume: (index) => stall(index, false),
    deliver,
    late,
    link,
    save,
    restart,
    replay,
  };
  return {
    take: ({ what, number }: Step): void => effects[what](number),
    /**
     * Connects one more consumer and lets all consumers acknowledge what is left; returns the events that are done or
     * parked then.
     */
    finish: (): ReadonlySet<bigint> => {
      connect(3);
      for (let round = 0; round < 20 * EVENTS; round += 1) {
        for (const { id } of consumers) group.stall(id, false);
        deliver();
        answer(0);
        link();
        save();
      }
      return new Set([...done, ...links]);
    },
  };
};

describe('whatever happens to a group and its consumers', () => {
  it('nothing that is recorded as done comes again, and nothing else is lost', () => {
    const strategies = fc.constantFrom('RoundRobin' as const, 'DispatchToSingle' as const, 'Pinned' as const);
    fc.assert(
      fc.property(
        strategies,
        fc.integer({ min: 1, max: 6 }),
        fc.array(anyStep, { maxLength: 60 }),
        (strategy, readAhead, steps) => {
          const scenario = world({ ...RULES, strategy, readAhead });
          for (const each of steps) scenario.take(each);
          expect([...scenario.finish()].map(Number).sort((a, b) => a - b)).toEqual(
            Array.from({ length: EVENTS }, (_, at) => at),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});
