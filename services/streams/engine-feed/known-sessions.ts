import { engineSessionCodec, type EngineSessionId } from '../../engine-session/events.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { WorkItem } from './work-items.js';

/** A session that is open as far as this process knows, with its leased executions. */
export type KnownSession = {
  readonly id: EngineSessionId;
  /**
   * Time of the last sign of life of the engine, in milliseconds since the start of this process. While the engine is
   * connected here, its messages are noted in `JoinedEngine` instead.
   */
  seenAtMs: number;
  /**
   * The number of renewals that the last check read; another number at the next check shows that the engine is alive.
   * `undefined` before the first check and after one that has failed, and where no other process writes the log.
   */
  renewals: number | undefined;
  readonly leased: Set<WorkItem>;
};

/** The open sessions of all engines, by the log and by the engines that join and leave this process. */
export class KnownSessions {
  readonly #sessions = new Map<string, KnownSession>();
  readonly #steadyMs: () => number;

  constructor(steadyMs: () => number) {
    this.#steadyMs = steadyMs;
  }

  all(): Iterable<KnownSession> {
    return this.#sessions.values();
  }

  of(session: string): KnownSession | undefined {
    return this.#sessions.get(session);
  }

  /** Other open sessions of the same engine, which a new session ends. */
  namesakes({ group, engine, session }: EngineSessionId): readonly KnownSession[] {
    return [...this.all()].filter(({ id }) => id.group === group && id.engine === engine && id.session !== session);
  }

  /** Adds a session; does nothing when it is known, such as when the event of its opening comes from the log. */
  opened(id: EngineSessionId): void {
    if (this.#sessions.has(id.session)) return;
    this.#sessions.set(id.session, { id, seenAtMs: this.#steadyMs(), renewals: undefined, leased: new Set() });
  }

  /** Notes a sign of life of an engine; does nothing for a session that is not open. */
  seen(session: string): void {
    const known = this.#sessions.get(session);
    if (known) known.seenAtMs = this.#steadyMs();
  }

  /** Notes a sign of life of every engine. */
  allSeen(): void {
    for (const session of this.#sessions.keys()) this.seen(session);
  }

  /** Folds an event; returns the session that the event ends, if any. */
  fold(recorded: RecordedEvent): KnownSession | undefined {
    const { type, data } = decodeEvent(engineSessionCodec, recorded);
    if (type === 'EngineSessionOpened') this.opened({ group: data.group, engine: data.engine, session: data.session });
    const known = this.#sessions.get(data.session);
    if (type === 'EngineSessionRenewed') this.seen(data.session);
    if (type !== 'EngineSessionEnded') return undefined;
    this.#sessions.delete(data.session);
    return known;
  }
}
