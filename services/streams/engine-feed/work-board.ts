import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { WorkHeartbeat } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { ENGINE_SESSION_CATEGORY, type EngineSessionId, engineSessionStream } from '../../engine-session/events.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { type ExecutionId, executionStream } from '../../kernel/execution-id.js';
import { type OnParked, type ParkableFold, parkableFold } from '../../kernel/log-readers/parkable-fold.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { RpcError } from '../../kernel/rpc.js';
import { categoryOf, type StreamName } from '../../kernel/stream.js';
import { KnownSessions } from './known-sessions.js';
import { type EngineSessions, leaseOf, type WorkLeases } from './ports.js';
import { IDLE_FACTOR, SilentSessions } from './silent-sessions.js';
import { type JoinedEngine, sendRequestedAbort, WorkOffers } from './work-offers.js';
import { type WorkChange, type WorkItem, WorkItems } from './work-items.js';
import { WorkSubscription } from './work-subscription.js';
import { WorkOrder } from './work-order.js';

/** Services and settings of the list of work. */
export type BoardServices = {
  readonly log: Pick<EventLog, 'subscribe' | 'head' | 'readStream'>;
  readonly leases: WorkLeases;
  readonly sessions: EngineSessions;
  /** Formats a position of the log for engines. */
  readonly positionToken: (position: bigint) => string;
  /** The weight of a project in the order of waiting executions. */
  readonly weightOf: (project: string) => number;
  /** The time for which an engine that sends nothing keeps its leases at least, in milliseconds. */
  readonly leaseMs: number;
  /** True when other processes write the log too. They read in it that an engine is alive. */
  readonly isShared: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds since the start of the process, by a clock that cannot be set. It measures the silence of engines. */
  readonly steadyMs: () => number;
  /** Called with each stream that cannot be read. */
  readonly onParked: OnParked;
  /** Called with each failure that the feed survives. */
  readonly onFailure: (error: unknown) => void;
};

/** A description of an engine with an open session. */
export type DescribedEngine = EngineSessionId & {
  /** True when it is connected to this process. */
  readonly isConnected: boolean;
  /** Its last sign of life, in milliseconds since 1970. */
  readonly seenAtMs: number;
  /** The number of further launches that it can take; 0 when it is not connected to this process. */
  readonly free: number;
  readonly leased: readonly ExecutionId[];
};

/** Engines with their leases, and the number of executions that wait. */
export type KnownWork = { readonly engines: readonly DescribedEngine[]; readonly waiting: number };

/** The number of heartbeats, and of checks for them, in one lease duration. */
export const HEARTBEATS = 3;

const SESSION_OVER = 'the session of the engine has ended: join again without it';

/**
 * The list of work of a process: the executions that wait and the sessions of engines, both folded from the log, and
 * the engines connected to this process, which get changes at once.
 */
export class WorkBoard {
  readonly engines = new Map<string, JoinedEngine>();
  readonly sessions: KnownSessions;
  readonly #services: BoardServices;
  readonly #order: WorkOrder<WorkItem>;
  readonly #items = new WorkItems();
  readonly #offers: WorkOffers;
  readonly #fold: ParkableFold;
  readonly #log: WorkSubscription;
  readonly #silent: SilentSessions;
  #timer: NodeJS.Timeout | undefined;

  constructor(services: BoardServices) {
    this.#services = services;
    this.sessions = new KnownSessions(services.steadyMs);
    this.#order = new WorkOrder(services.weightOf);
    this.#offers = new WorkOffers({
      ...{ ...services, order: this.#order, engines: this.engines },
      waitAgain: (item) => this.#waitAgain(item),
      distribute: () => this.distribute(),
    });
    const onBroken = (error: unknown): void => this.#broken(error);
    this.#fold = parkableFold((event) => this.#foldEvent(event), services.onParked);
    this.#log = new WorkSubscription({ log: services.log, fold: this.#fold.fold, onBroken });
    const isParked = (id: EngineSessionId): boolean => this.#fold.reasonOf(engineSessionStream(id)) !== undefined;
    this.#silent = new SilentSessions({ ...services, known: this.sessions, engines: this.engines, isParked });
  }

  /**
   * Follows the log, from the first call on; resolves when the list is complete.
   *
   * @throws {Fault} when the log cannot be read; a later call tries again.
   * @throws {RpcError} UNAVAILABLE when the list is closed meanwhile.
   */
  async start(): Promise<void> {
    const wasComplete = this.#log.isComplete();
    await this.#log.start();
    if (!wasComplete) this.sessions.allSeen(); // until now, no engine could join
    const check = (): void => {
      if (this.#log.isComplete()) this.#silent.check();
    };
    this.#timer ??= setInterval(check, this.#services.leaseMs / HEARTBEATS).unref();
  }

  /** False until {@link start} has resolved, again so after the subscription has broken, and after {@link close}. */
  isComplete(): boolean {
    return this.#log.isComplete();
  }

  /** Folds the rest of a stream that was parked; does nothing for another one. */
  resume(stream: StreamName): Promise<void> {
    return this.#fold.resume(stream, this.#services.log);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#log.close();
  }

  /** Describes the sessions that are open, in no order, and counts the executions that wait. */
  known(): KnownWork {
    const startedAtMs = this.#services.now() - this.#services.steadyMs();
    const engines = [...this.sessions.all()].map(({ id, leased, seenAtMs }): DescribedEngine => {
      const engine = this.engines.get(id.session);
      const { free = 0, seenAtMs: lastMessageAtMs = seenAtMs } = engine ?? {};
      const isConnected = engine !== undefined;
      return {
        ...id,
        isConnected,
        seenAtMs: Math.round(startedAtMs + lastMessageAtMs),
        free: Math.max(0, free),
        leased: [...leased].map((item) => item.id),
      };
    });
    return { engines, waiting: this.#order.size() };
  }

  /** Offers executions to engines with free capacity. */
  distribute(): void {
    if (this.#log.isComplete()) this.#offers.distribute();
  }

  /** Renews the leases of an engine and, when that is due, its session in a log that other processes write too. */
  async renew(engine: JoinedEngine, { askOtherWork }: WorkHeartbeat): Promise<void> {
    const { leaseMs, now, steadyMs, sessions } = this.#services;
    const leaseUntil = timestampFromMs(now() + leaseMs);
    const isDue = this.#isRenewalDue(engine);
    // First: during the renewal, the engine may move to another process and get leases there.
    this.giveBackUnknown(engine);
    if (isDue) engine.renewedAtMs = steadyMs();
    if (isDue && !(await sessions.renew(engine.id))) this.#lose(engine);
    else {
      const other = askOtherWork ? { hasOtherWork: this.#hasOtherWork(engine) } : {};
      engine.sendQueue.send({ case: 'renewed', value: { leaseUntil, ...other } });
    }
  }

  /** True when an engine may yet be given an execution: it waits, is being leased, or is with another engine. */
  #hasOtherWork({ takes, held, rejected }: JoinedEngine): boolean {
    return this.#items.some(
      ({ stream, lane, isElsewhere }) =>
        !isElsewhere && held.get(stream)?.isSent !== true && !rejected.has(stream) && takes(lane),
    );
  }

  /**
   * Gives back the leases that the session of an engine has and the engine does not know: their launches were lost with
   * a connection, or the answers to their leases were. Called when the engine has just sent a message. In a process
   * whose connection to the engine is broken without notice, another process may have sent the launch; no message comes
   * there.
   */
  giveBackUnknown(engine: JoinedEngine): void {
    const { deciding, held, id } = engine;
    if (this.engines.get(id.session) !== engine) return; // another stream has taken over the session
    for (const { stream, id: execution, lease } of this.sessions.of(id.session)?.leased ?? []) {
      if (lease === undefined || deciding.has(stream) || held.get(stream)?.number === lease.number) continue;
      const unknown = { id: execution, number: lease.number, session: id.session };
      this.#services.leases.giveBack(unknown, 'the engine does not hold it').catch(this.#services.onFailure);
    }
  }

  /** True when the creation of the execution has been folded, and no end. */
  isOpen(id: ExecutionId): boolean {
    return this.#items.of(executionStream(id)) !== undefined;
  }

  /** True for an open execution when a request to abort it has been folded. */
  isAborting(id: ExecutionId): boolean {
    return this.#items.of(executionStream(id))?.isAborting === true;
  }

  /** Tells an engine that an execution which it holds has ended. Sends nothing when the engine has no launch of it. */
  sendEnd({ held, sendQueue }: JoinedEngine, id: ExecutionId, phase: Phase): void {
    const stream = executionStream(id);
    const lease = held.get(stream);
    if (lease === undefined) return;
    held.delete(stream);
    if (!lease.isSent) return;
    const change = { case: 'ended', value: { phase } } as const;
    sendQueue.send({ case: 'update', value: { lease: leaseOf({ id, number: lease.number }), change } });
  }

  #isRenewalDue({ renewedAtMs, held }: JoinedEngine): boolean {
    const { isShared, leaseMs, steadyMs } = this.#services;
    const factor = held.size > 0 ? 1 : IDLE_FACTOR;
    return isShared && steadyMs() - renewedAtMs >= (factor * leaseMs) / HEARTBEATS / 2;
  }

  /** Ends all streams, because the list of work is stale. The next call of `start` resumes the subscription. */
  #broken(error: unknown): void {
    this.#services.onFailure(error);
    for (const { sendQueue } of this.engines.values())
      sendQueue.end(new RpcError('UNAVAILABLE', 'the log cannot be read'));
  }

  /**
   * Folds an event.
   *
   * @throws {StreamParked} when this release cannot read it.
   */
  #foldEvent(event: RecordedEvent): void {
    if (categoryOf(event.stream) === ENGINE_SESSION_CATEGORY) this.#foldSessionEvent(event);
    else this.#changed(this.#items.fold(event));
  }

  #foldSessionEvent(event: RecordedEvent): void {
    const over = this.sessions.fold(event);
    if (over === undefined) return;
    const engine = this.engines.get(over.id.session);
    if (engine) this.#lose(engine);
    for (const item of over.leased) this.#waitAgain(item);
  }

  #changed(change: WorkChange | undefined): void {
    if (change === undefined) return;
    const { item, kind } = change;
    if (kind === 'leased') this.#leased(item);
    else if (kind === 'aborting') this.#aborting(item);
    else if (kind === 'ended') this.#ended(item, change.phase);
    else {
      this.#forget(item);
      this.#waitAgain(item);
    }
  }

  /** True when no engine has the execution and the feed may give it out. */
  #isFree({ isElsewhere, lease }: WorkItem): boolean {
    return !isElsewhere && (lease === undefined || this.sessions.of(lease.session) === undefined);
  }

  #waitAgain(item: WorkItem): void {
    if (this.#items.of(item.stream) !== item || !this.#isFree(item)) return;
    this.#order.add(item);
    this.distribute();
  }

  #forget(item: WorkItem): void {
    this.#order.remove(item);
    for (const session of this.sessions.all()) session.leased.delete(item);
  }

  /**
   * Notes the session of a new lease. For an engine that is not connected to this process, the lease is a sign of life.
   */
  #leased(item: WorkItem): void {
    this.#forget(item);
    const session = item.lease && this.sessions.of(item.lease.session);
    if (session === undefined) {
      this.#waitAgain(item);
      return;
    }
    session.leased.add(item);
    if (!this.engines.has(session.id.session)) this.sessions.seen(session.id.session);
  }

  #aborting(item: WorkItem): void {
    const engine = item.lease && this.engines.get(item.lease.session);
    const held = engine?.held.get(item.stream);
    this.#waitAgain(item);
    if (engine === undefined || held?.isSent !== true) return;
    void sendRequestedAbort(this.#services, engine, { id: item.id, number: held.number, session: engine.id.session });
  }

  #ended(item: WorkItem, phase: Phase): void {
    this.#forget(item);
    this.#offers.forget(item);
    for (const engine of this.engines.values()) {
      engine.rejected.delete(item.stream);
      engine.postponed.delete(item.stream);
      this.sendEnd(engine, item.id, phase);
    }
  }

  /** Removes an engine whose session has ended, and ends its stream. */
  #lose(engine: JoinedEngine): void {
    this.engines.delete(engine.id.session);
    for (const [stream, { number, isSent }] of engine.held) {
      const id = this.#items.of(stream)?.id;
      if (id === undefined || !isSent) continue;
      const change = { case: 'lost', value: { cause: SESSION_OVER } } as const;
      engine.sendQueue.send({ case: 'update', value: { lease: leaseOf({ id, number }), change } });
    }
    engine.sendQueue.end(new RpcError('FAILED_PRECONDITION', SESSION_OVER));
  }
}
