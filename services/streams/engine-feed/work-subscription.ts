import { ENGINE_SESSION_CATEGORY } from '../../engine-session/events.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { EventFilter, EventLog, Subscription } from '../../kernel/ports/event-store.js';
import { RpcError } from '../../kernel/rpc.js';
import { WORK_TYPES } from './work-items.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';

/** The log, and the functions that fold its events and get its failures. */
export type WorkSubscriptionServices = {
  readonly log: Pick<EventLog, 'subscribe' | 'head'>;
  /** Folds an event. */
  readonly fold: (event: RecordedEvent) => void;
  /** Called when a complete subscription fails: the folded state is stale until the next `start` has resolved. */
  readonly onBroken: (error: unknown) => void;
};

const WORK: EventFilter = {
  categories: [EXECUTION_CATEGORY, ENGINE_SESSION_CATEGORY],
  types: [...WORK_TYPES, 'EngineSessionOpened', 'EngineSessionEnded'],
};

const RENEWALS: EventFilter = { categories: [ENGINE_SESSION_CATEGORY], types: ['EngineSessionRenewed'] };

const closed = (): RpcError => new RpcError('UNAVAILABLE', 'shutting down');

/**
 * Subscribes to the events that the open executions (`WorkItems`) and the sessions of engines are folded from. After a
 * failure it resumes after the last folded event.
 */
export class WorkSubscription {
  readonly #services: WorkSubscriptionServices;
  #subscriptions: readonly Subscription[] = [];
  #started: Promise<void> | undefined;
  #position = 0n;
  #isComplete = false;
  #isClosed = false;

  constructor(services: WorkSubscriptionServices) {
    this.#services = services;
  }

  /** True when all events up to the head of the log at the last start have been folded, until a failure or `close`. */
  isComplete(): boolean {
    return this.#isComplete;
  }

  /**
   * Starts the subscription at the first call, and again at the first call after a failure. Resolves when all events up
   * to the head of the log have been folded.
   *
   * @throws {Fault} when the log cannot be read.
   * @throws {RpcError} UNAVAILABLE when the subscription is closed meanwhile.
   */
  start(): Promise<void> {
    if (this.#started) return this.#started;
    const started = this.#subscribe();
    this.#started = started;
    started.catch(() => this.#stop()).catch(() => undefined); // the caller gets the failure of the start
    return started;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#unsubscribe();
  }

  async #unsubscribe(): Promise<void> {
    this.#isComplete = false;
    await Promise.all(this.#subscriptions.map((each) => each.close()));
  }

  /** Subscribes to executions and sessions after the last folded event, and to renewals of sessions from now on. */
  async #subscribe(): Promise<void> {
    const { log, fold } = this.#services;
    const head = await log.head();
    if (this.#isClosed) throw closed();
    await new Promise<void>((resolve, reject) => {
      const work = log.subscribe({ after: this.#position, filter: WORK }, ({ events, position }, isLive) => {
        for (const event of events) {
          fold(event);
          this.#position = event.position;
        }
        this.#position = position;
        if (isLive) resolve();
      });
      const renewals = log.subscribe({ after: head, filter: RENEWALS }, ({ events }) => events.forEach(fold));
      this.#subscriptions = [work, renewals];
      for (const { ended } of this.#subscriptions) ended.then(() => reject(closed()), reject);
    });
    this.#isComplete = true;
    for (const { ended } of this.#subscriptions) ended.catch((error: unknown) => this.#broken(error));
  }

  async #stop(): Promise<void> {
    await this.#unsubscribe();
    this.#subscriptions = [];
    this.#started = undefined;
  }

  #broken(error: unknown): void {
    if (!this.#isComplete) return; // closed, or the other subscription has broken before
    const reportBroken = (): void => this.#services.onBroken(error);
    this.#stop().then(reportBroken, reportBroken);
  }
}
