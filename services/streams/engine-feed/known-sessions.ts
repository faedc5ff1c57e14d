import { engineSessionCodec, type EngineSessionId } from '../../engine-session/events.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { WorkItem } from './work-items.js';

/** A session that is not known to have ended, with the executions that it has. */
export type KnownSession = {
  readonly id: EngineSessionId;
  /** When this process last learned that the engine lives, by its own clock, in milliseconds. */
  seenAtMs: number;
  /** The number of renewals when it was asked for; with more, the engine lives. */
  renewals: number | undefined;
  readonly leased: Set<WorkItem>;
};

/** The sessions of all engines, folded from the log. */
export class KnownSessions {
  readonly #sessions = new Map<string, KnownSession>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  all(): Iterable<KnownSession> {
    return this.#sessions.values();
  }

  of(session: string): KnownSession | undefined {
    return this.#sessions.get(session);
  }

  /** Earlier sessions of the same engine, which a new one ends. */
  namesakes({ group, engine, session }: EngineSessionId): readonly KnownSession[] {
    return [...this.all()].filter(({ id }) => id.group === group && id.engine === engine && id.session !== session);
  }

  opened(id: EngineSessionId): void {
    if (this.#sessions.has(id.session)) return;
    this.#sessions.set(id.session, { id, seenAtMs: this.#now(), renewals: undefined, leased: new Set() });
  }

  /** Folds an event; returns the session that has ended with it. */
  take(recorded: RecordedEvent): KnownSession | undefined {
    const { type, data } = decodeEvent(engineSessionCodec, recorded);
    if (type === 'EngineSessionOpened') this.opened({ group: data.group, engine: data.engine, session: data.session });
    const known = this.#sessions.get(data.session);
    if (type === 'EngineSessionRenewed' && known) known.seenAtMs = this.#now();
    if (type !== 'EngineSessionEnded') return undefined;
    this.#sessions.delete(data.session);
    return known;
  }
}
