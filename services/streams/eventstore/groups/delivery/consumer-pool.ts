/** The strategies by which the consumers of a group share its events. */
export type Strategy = 'RoundRobin' | 'DispatchToSingle' | 'Pinned';

/** A connected consumer. */
export type Consumer = {
  readonly id: number;
  /** The maximum number of its events that are unanswered, or whose answers are not recorded. */
  readonly bufferSize: number;
  inFlight: number;
  /** True while its client does not read. */
  isStalled: boolean;
};

/** The consumers of a group, in the order in which they have connected. */
export interface ConsumerPool {
  readonly size: number;
  add(consumer: Pick<Consumer, 'id' | 'bufferSize'>): void;
  remove(id: number): void;
  of(id: number): Consumer | undefined;
  all(): readonly Consumer[];
  /** True when at least one consumer can take an event. */
  hasCapacity(): boolean;
  /** The consumer that gets the next event of a bucket; `undefined` when the event has to wait. */
  pick(bucket: number): Consumer | undefined;
}

/** The number of buckets by which `Pinned` spreads streams over consumers. */
export const BUCKETS = 1_024;

const canTake = ({ inFlight, bufferSize, isStalled }: Consumer): boolean => !isStalled && inFlight < bufferSize;

type Picking = (consumers: readonly Consumer[], bucket: number) => Consumer | undefined;

const picks: Readonly<Record<Strategy, () => Picking>> = {
  DispatchToSingle: () => (consumers) => consumers.find(canTake),
  Pinned: () => {
    const pins = new Map<number, number>();
    return (consumers, bucket) => {
      const pinned = pins.get(bucket);
      const consumer = consumers.find(({ id }) => id === pinned) ?? consumers[bucket % consumers.length];
      if (consumer) pins.set(bucket, consumer.id);
      return consumer && canTake(consumer) ? consumer : undefined;
    };
  },
  RoundRobin: () => {
    let turn = 0;
    return (consumers) => {
      for (let step = 0; step < consumers.length; step += 1) {
        const next = consumers[(turn + step) % consumers.length];
        if (next === undefined || !canTake(next)) continue;
        turn = (turn + step + 1) % consumers.length;
        return next;
      }
      return undefined;
    };
  },
};

/** Makes a pool without consumers. */
export const consumerPool = (strategy: Strategy): ConsumerPool => {
  let consumers: readonly Consumer[] = [];
  const pick = picks[strategy]();
  return {
    get size() {
      return consumers.length;
    },
    add: (consumer) => {
      consumers = [...consumers, { ...consumer, inFlight: 0, isStalled: false }];
    },
    remove: (id) => {
      consumers = consumers.filter((consumer) => consumer.id !== id);
    },
    of: (id) => consumers.find((consumer) => consumer.id === id),
    all: () => consumers,
    hasCapacity: () => consumers.some(canTake),
    pick: (bucket) => pick(consumers, bucket),
  };
};
