import type { EngineSessionId } from '../../engine-session/events.js';
import { RpcError } from '../../kernel/rpc.js';
import type { KnownSession, KnownSessions } from './known-sessions.js';
import type { EngineSessions } from './ports.js';
import type { JoinedEngine } from './work-offers.js';

/** The sessions that are checked, with services and settings of the checks. */
export type CheckedSessions = {
  readonly known: KnownSessions;
  /** The engines connected to this process, by session. */
  readonly engines: Map<string, Pick<JoinedEngine, 'id' | 'seenAtMs' | 'sendQueue'>>;
  readonly sessions: Pick<EngineSessions, 'renewals' | 'end'>;
  /** The time for which an engine that sends nothing keeps its leases at least, in milliseconds. */
  readonly leaseMs: number;
  /** True when other processes write the log too, so that an engine may be connected to one of them. */
  readonly isShared: boolean;
  /** True when the stream of a session is parked, so that its end cannot be recorded. */
  readonly isParked: (id: EngineSessionId) => boolean;
  /** Milliseconds since the start of the process, by a clock that cannot be set. */
  readonly steadyMs: () => number;
  /** Called with each failure to read or end a session. */
  readonly onFailure: (error: unknown) => void;
};

/**
 * Factor by which engines without leases renew their sessions less often than those with leases, and by which their
 * sessions outlast a longer silence, when processes share the log. At the rate of leases, each engine that waits for
 * work would be recorded every few seconds. A session without leases whose end has failed is tried again after as long
 * a time.
 */
export const IDLE_FACTOR = 120;

/** The most sessions without leases that are being ended at a time: many pile up while no process ends them. */
export const MAX_IDLE_ENDS = 100;

/** Ends the sessions of engines that have been silent. */
export class SilentSessions {
  readonly #checked: CheckedSessions;
  /** The sessions whose end has begun and has neither been recorded nor failed. */
  readonly #ending = new Set<KnownSession>();
  /**
   * The times from which sessions whose end has failed are tried again, in milliseconds since the start of the process.
   */
  readonly #retryAtMs = new WeakMap<KnownSession, number>();

  constructor(checked: CheckedSessions) {
    this.#checked = checked;
  }

  /** Begins to end the silent sessions, those with leases first. */
  check(): void {
    if (this.#checked.isShared) this.#detachSilentEngines();
    const due = [...this.#checked.known.all()].filter((session) => this.#isDue(session));
    const idle = due.filter(({ leased }) => leased.size === 0);
    const idleEnds = Math.max(0, MAX_IDLE_ENDS - this.#ending.size);
    for (const session of [...due.filter(({ leased }) => leased.size > 0), ...idle.slice(0, idleEnds)])
      void this.#tryToEnd(session);
  }

  /**
   * Detaches silent engines from this process. Such an engine may have moved to another process over a new connection,
   * while this process does not know yet that the old one is broken; the renewals of its session then show that it
   * lives.
   */
  #detachSilentEngines(): void {
    const { engines, known, leaseMs, steadyMs } = this.#checked;
    for (const { id, seenAtMs, sendQueue } of engines.values()) {
      if (steadyMs() - seenAtMs < leaseMs) continue;
      engines.delete(id.session);
      const session = known.of(id.session);
      if (session) session.seenAtMs = Math.max(session.seenAtMs, seenAtMs);
      sendQueue.end(new RpcError('UNAVAILABLE', `no heartbeat for ${leaseMs / 1_000} s: join again with the session`));
    }
  }

  #isDue(session: KnownSession): boolean {
    const { isParked, steadyMs } = this.#checked;
    const isSilent = this.#isSilent(session) && steadyMs() >= (this.#retryAtMs.get(session) ?? 0);
    return isSilent && !this.#ending.has(session) && !isParked(session.id);
  }

  #isSilent(session: KnownSession): boolean {
    const { engines, steadyMs } = this.#checked;
    const lastMessageAtMs = engines.get(session.id.session)?.seenAtMs ?? 0;
    return steadyMs() - Math.max(session.seenAtMs, lastMessageAtMs) >= this.#silenceMs(session);
  }

  /** The time without a sign of life after which a session is to be ended, in milliseconds. */
  #silenceMs({ id, leased }: KnownSession): number {
    const { engines, isShared, leaseMs } = this.#checked;
    const mayBeIdleElsewhere = isShared && leased.size === 0 && !engines.has(id.session);
    return mayBeIdleElsewhere ? IDLE_FACTOR * leaseMs : leaseMs;
  }

  async #tryToEnd(session: KnownSession): Promise<void> {
    const { leaseMs, steadyMs, onFailure } = this.#checked;
    this.#ending.add(session);
    try {
      await this.#endUnlessRenewed(session);
    } catch (error) {
      session.renewals = undefined; // where the log cannot be reached, other processes cannot renew it either
      const pauseMs = session.leased.size > 0 ? leaseMs : IDLE_FACTOR * leaseMs;
      this.#retryAtMs.set(session, steadyMs() + pauseMs);
      onFailure(error);
    } finally {
      this.#ending.delete(session);
    }
  }

  /** Ends a session, unless another process has renewed it or its engine has given a sign of life meanwhile. */
  async #endUnlessRenewed(session: KnownSession): Promise<void> {
    const { isShared, steadyMs, sessions } = this.#checked;
    const cause = `no heartbeat for ${this.#silenceMs(session) / 1_000} s`;
    const renewals = await sessions.renewals(session.id);
    if (!this.#isSilent(session)) return; // its engine has joined again
    // Renewed since the last check, or checked for the first time: without another renewal it ends after the same time.
    if (isShared && renewals !== session.renewals) Object.assign(session, { renewals, seenAtMs: steadyMs() });
    else await sessions.end(session.id, cause, renewals);
  }
}
