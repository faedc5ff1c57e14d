import type { Decider, EventCodec } from '../kernel/aggregate.js';
import { decodeEvent } from '../kernel/decode-event.js';
import type { RecordedEvent } from '../kernel/event.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { type OnParked, type ParkableFold, parkableFold } from '../kernel/log-readers/parkable-fold.js';
import type { Acknowledged, Folded } from '../kernel/ports/sessions.js';
import { type Call, RpcError } from '../kernel/rpc.js';
import { categoryOf, type StreamName } from '../kernel/stream.js';
import { positionWaits } from './position-waits.js';

/** The streams of one category, folded as events arrive. */
export type FoldedStreams<State> = {
  readonly category: string;
  /** The state of each stream. A parked stream keeps the state before the event that cannot be read. */
  readonly entries: ReadonlyMap<StreamName, Folded<State>>;
  /** True for a stream with an event that cannot be read. */
  isParked(stream: StreamName): boolean;
  /** @throws {StreamParked} when the stream is parked. */
  assertReadable(stream: StreamName): void;
} & Pick<ParkableFold, 'fold' | 'resume'>;

type Fold<State, Event> = Pick<Decider<State, never, Event, never>, 'initial' | 'evolve'> & {
  readonly category: string;
  readonly codec: EventCodec<Event>;
};

/** Makes the fold of one category. It is empty until `followFolds` feeds it. */
export const foldedStreams = <State, Event>(
  folding: Fold<State, Event>,
  onParked: OnParked = () => undefined,
): FoldedStreams<State> => {
  const entries = new Map<StreamName, Folded<State>>();
  const evolve = (event: RecordedEvent): void => {
    const { stream, revision, position } = event;
    const before = entries.get(stream);
    if (before && revision <= before.revision) return;
    const state = folding.evolve(before?.state ?? folding.initial(), decodeEvent(folding.codec, event));
    entries.set(stream, { state, revision, position });
  };
  const { fold, resume, reasonOf } = parkableFold(evolve, onParked);
  return {
    category: folding.category,
    entries,
    ...{ fold, resume },
    isParked: (stream) => reasonOf(stream) !== undefined,
    assertReadable: (stream) => {
      const error = reasonOf(stream);
      if (error !== undefined) throw error;
    },
  };
};

/** The progress of the subscription that feeds the folds. */
export interface LogFollower {
  /** The position up to which everything has been folded. */
  position(): bigint;
  /**
   * Waits until the events that existed at the start, and the given position, have been folded.
   *
   * @returns `false` when that has not happened within `timeoutMs`, or the subscription was closed.
   * @throws {RpcError} RESOURCE_EXHAUSTED with a retry delay, when too many calls wait.
   * @throws {Fault} when the log cannot be read.
   */
  reached(position: bigint, timeoutMs: number): Promise<boolean>;
  /** True when the events that existed at the start, and the given position, have been folded. */
  hasReached(position: bigint): boolean;
  /** Rejects when the subscription has failed and does not continue. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** The options of `followFolds`. */
export type FollowLogOptions = {
  /** True when the subscription advances over every position, also those of events that the filter leaves out. */
  readonly advancesOverAll?: boolean;
  /** The types of events to fold; by default all. */
  readonly types?: readonly string[];
};

/** The longest waits of a read for the position that its caller asks for, and for the acknowledged events. */
const MIN_POSITION_WAIT_MS = 2_000;
const ACKNOWLEDGED_WAIT_MS = 500;

/**
 * Waits until the position that the caller of a read asks for has been folded.
 *
 * @param dataName the data that is read, as the beginning of the error's text, such as `the attributes`.
 * @throws {RpcError} UNAVAILABLE when that takes more than 2 seconds; RESOURCE_EXHAUSTED when too many calls wait.
 * @throws {Fault} when the log cannot be read.
 */
export const reachMinPosition = async (
  following: Pick<LogFollower, 'reached'>,
  { minPosition }: Pick<Call, 'minPosition'>,
  dataName: string,
): Promise<void> => {
  if (minPosition === undefined || (await following.reached(minPosition, MIN_POSITION_WAIT_MS))) return;
  throw new RpcError('UNAVAILABLE', `${dataName} have not reached position ${minPosition.toString()} yet`);
};

/**
 * Waits until the events that this process has acknowledged in a category have been folded, at most half a second.
 *
 * @throws {RpcError} RESOURCE_EXHAUSTED when too many calls wait.
 * @throws {Fault} when the log cannot be read.
 */
export const reachAcknowledged = async (
  following: Pick<LogFollower, 'reached'>,
  acknowledged: Pick<Acknowledged, 'ofPrefix'>,
  category: string,
): Promise<void> => {
  await following.reached(acknowledged.ofPrefix(`${category}-`) ?? 0n, ACKNOWLEDGED_WAIT_MS);
};

/**
 * Checks that everything that was recorded at the start has been folded, so that nothing is missing.
 *
 * @param dataName as for {@link reachMinPosition}.
 * @throws {RpcError} UNAVAILABLE otherwise.
 */
export const assertRead = (following: Pick<LogFollower, 'hasReached'>, dataName: string): void => {
  if (!following.hasReached(0n)) throw new RpcError('UNAVAILABLE', `${dataName} are still being read: try again later`);
};

/** Feeds all folds from one subscription to the log. The caller closes it. */
export const followFolds = (
  log: EventLog,
  folds: readonly Pick<FoldedStreams<unknown>, 'category' | 'fold'>[],
  { advancesOverAll = false, types }: FollowLogOptions = {},
): LogFollower => {
  const byCategory = new Map(folds.map((fold) => [fold.category, fold]));
  const filter = { categories: [...byCategory.keys()], ...(types && { types }) };
  let current = 0n;
  let isCaughtUp = false;

  const advance = (position: bigint): void => {
    if (position > current) current = position;
  };
  const hasReached = (position: bigint): boolean => isCaughtUp && current >= position;
  /**
   * Advances over events that the filter leaves out, which do not always wake the subscription. Events that are folded
   * come by the subscription only.
   */
  const readAhead = async (): Promise<void> => {
    for await (const { events, position } of log.readLog({ after: current, filter })) {
      if (events.length > 0) return;
      advance(position);
    }
  };

  const waits = positionWaits({ hasReached, ...(!advancesOverAll && { readAhead }) });

  const subscription = log.subscribe({ after: 0n, filter }, (page, isLive) => {
    for (const event of page.events) byCategory.get(categoryOf(event.stream))?.fold(event);
    advance(page.position);
    isCaughtUp ||= isLive;
    waits.advanced();
  });

  return {
    position: () => current,
    reached: (position, timeoutMs) => waits.reached(position, timeoutMs),
    hasReached,
    ended: subscription.ended,
    close: () => {
      waits.close();
      return subscription.close();
    },
  };
};
