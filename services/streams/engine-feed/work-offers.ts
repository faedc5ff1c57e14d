import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { WorkAbort } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import type { EngineSessionId } from '../../engine-session/events.js';
import { RpcError } from '../../kernel/rpc.js';
import type { StreamName } from '../../kernel/stream.js';
import type { JoinParameters } from './joined.js';
import type { SendQueue } from './send-queue.js';
import { type HeldLease, leaseOf, type WorkLeases } from './ports.js';
import type { WorkItem } from './work-items.js';
import type { WorkOrder } from './work-order.js';

/** A lease of an engine that is connected to this process. `isSent` is true once its launch was sent. */
export type EngineLease = { readonly number: number; isSent: boolean };

/** An engine that is connected to this process. */
export type JoinedEngine = JoinParameters & {
  readonly id: EngineSessionId;
  readonly sendQueue: SendQueue;
  /**
   * The number of further launches that the engine can take, without those that are being decided. Negative when it has
   * stated fewer than are being decided.
   */
  free: number;
  /** Time of its last message, in milliseconds since the start of the process. */
  seenAtMs: number;
  /** Time of the opening or last renewal of its session in the log, in milliseconds since the start of the process. */
  renewedAtMs: number;
  /** Executions that are being leased to it, until their launch was sent or has failed. */
  readonly deciding: Set<StreamName>;
  readonly held: Map<StreamName, EngineLease>;
  /** Executions that it has rejected or returned; it is not offered them while it stays connected. */
  readonly rejected: Set<StreamName>;
  /** Executions whose launch could not be composed; it is not offered them for a time. */
  readonly postponed: Set<StreamName>;
};

/** Services of the offers. */
export type OfferServices = {
  readonly leases: WorkLeases;
  readonly order: Pick<WorkOrder<WorkItem>, 'next' | 'size'>;
  readonly engines: ReadonlyMap<string, JoinedEngine>;
  readonly leaseMs: number;
  /** Formats a position of the log for engines. */
  readonly positionToken: (position: bigint) => string;
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
  /** Puts an execution back into the order if it may be leased. */
  readonly waitAgain: (item: WorkItem) => void;
  /**
   * Offers executions again, unless the list of work is incomplete. Called when a place has become free, or the pause
   * after a fault is over.
   */
  readonly distribute: () => void;
};

/** The number of launches that are being decided for an engine; each takes a place, or gives it back if it fails. */
export const unsentLaunches = ({ deciding, held }: Pick<JoinedEngine, 'deciding' | 'held'>): number =>
  [...deciding].filter((stream) => held.get(stream)?.isSent !== true).length;

/** Sends an abort to an engine. */
export const sendAbort = ({ sendQueue }: JoinedEngine, lease: HeldLease, abort: WorkAbort): void =>
  sendQueue.send({ case: 'abort', value: { ...abort, lease: leaseOf(lease) } });

/**
 * Sends an engine the abort of an execution that it holds. Ends its stream when the abort cannot be read: the engine
 * gets it when it joins again.
 */
export const sendRequestedAbort = async (
  { leases, onFailure }: Pick<OfferServices, 'leases' | 'onFailure'>,
  engine: JoinedEngine,
  lease: HeldLease,
): Promise<void> => {
  try {
    const state = await leases.held(lease);
    if (state?.abort) sendAbort(engine, lease, state.abort);
  } catch (error) {
    onFailure(error);
    engine.sendQueue.end(new RpcError('UNAVAILABLE', 'an execution of the engine cannot be read: join again'));
  }
};

/** The pause after an offer that has failed, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * The times for which an engine is not offered an execution whose launch could not be composed: at first, and at most.
 * Each failure, with whichever engine, doubles the next, because it is recorded as a lease and its return.
 */
const UNCOMPOSED_MS = 60_000;
const MAX_UNCOMPOSED_MS = 3_600_000;

/** Offers waiting executions to engines with free capacity, one to each in turn. */
export class WorkOffers {
  readonly #services: OfferServices;
  /** The next pause of executions whose launch could not be composed, in milliseconds. */
  readonly #pauses = new Map<StreamName, number>();

  constructor(services: OfferServices) {
    this.#services = services;
  }

  /** Forgets an execution that has ended. */
  forget({ stream }: WorkItem): void {
    this.#pauses.delete(stream);
  }

  /** Offers executions until no engine can take another. */
  distribute(): void {
    const { order, engines } = this.#services;
    for (let isGiven = order.size() > 0; isGiven;) {
      isGiven = false;
      for (const engine of engines.values()) {
        const item = this.#nextFor(engine);
        if (item === undefined) continue;
        isGiven = true;
        void this.#offer(engine, item);
      }
    }
  }

  #nextFor({ free, takes, rejected, postponed }: JoinedEngine): WorkItem | undefined {
    const { order, now } = this.#services;
    const refuses = ({ stream }: WorkItem): boolean => rejected.has(stream) || postponed.has(stream);
    return free > 0 ? order.next(takes, now(), refuses) : undefined;
  }

  async #offer(engine: JoinedEngine, item: WorkItem): Promise<void> {
    const { onFailure, waitAgain, distribute } = this.#services;
    engine.free -= 1;
    engine.deciding.add(item.stream);
    const outcome = await this.#give(engine, item).catch((error: unknown) => {
      onFailure(error);
      return 'failed' as const;
    });
    engine.deciding.delete(item.stream);
    if (outcome === true) return;
    engine.free += 1;
    const offerNext = (): void => {
      if (outcome === 'failed') waitAgain(item);
      distribute(); // another execution may have waited for the place
    };
    if (outcome === 'failed') setTimeout(offerNext, RETRY_MS).unref();
    else offerNext();
  }

  /** Leases an execution to an engine, and sends the launch. Returns whether a launch was sent. */
  async #give(engine: JoinedEngine, item: WorkItem): Promise<boolean> {
    const { leases, leaseMs, now } = this.#services;
    const { id, producerId } = engine;
    const terms = { untilMs: now() + leaseMs, over: item.lease?.number };
    const leased = await leases.lease(item.id, { ...id, producerId }, terms);
    // Refused: another process has leased it, an engine outside the feed has begun it, or it has ended. The event of
    // that arrives soon.
    if (leased.kind === 'refused') return false;
    engine.held.set(item.stream, { number: leased.number, isSent: false });
    const lease = { id: item.id, number: leased.number, session: id.session };
    try {
      return await this.#launch(engine, item, lease, leased.position);
    } catch (error) {
      // Otherwise the execution has ended: the board has deleted what was held.
      if (engine.held.delete(item.stream)) this.#postpone(engine, item);
      await leases.giveBack(lease, 'it could not be offered');
      throw error;
    }
  }

  /** Leaves an execution to other engines first; each attempt with this one records a lease and its return. */
  #postpone({ postponed }: JoinedEngine, { stream }: WorkItem): void {
    const pauseMs = this.#pauses.get(stream) ?? UNCOMPOSED_MS;
    this.#pauses.set(stream, Math.min(2 * pauseMs, MAX_UNCOMPOSED_MS));
    postponed.add(stream);
    const offerAgain = (): void => {
      if (postponed.delete(stream)) this.#services.distribute();
    };
    setTimeout(offerAgain, pauseMs).unref();
  }

  /**
   * Sends a launch, unless the lease or the execution has ended meanwhile. An abort that is requested after its state
   * was read follows it. Returns whether the launch was sent.
   */
  async #launch(engine: JoinedEngine, item: WorkItem, lease: HeldLease, leasedAt: bigint): Promise<boolean> {
    const { leases, leaseMs, now, positionToken } = this.#services;
    const held = engine.held.get(item.stream);
    const message = await leases.launch(lease, engine.maxInlineBytes);
    // The board deletes what has ended. A later lease of the execution has another entry.
    const isHeld = held !== undefined && engine.held.get(item.stream) === held;
    if (message === undefined || !isHeld) {
      if (isHeld) engine.held.delete(item.stream);
      return false;
    }
    held.isSent = true;
    this.#pauses.delete(item.stream);
    const leaseUntil = timestampFromMs(now() + leaseMs);
    const position = positionToken(leasedAt);
    engine.sendQueue.send({ case: 'launch', value: { ...message, lease: leaseOf(lease), leaseUntil, position } });
    if (item.isAborting && message.abort === undefined) void sendRequestedAbort(this.#services, engine, lease);
    return true;
  }
}
