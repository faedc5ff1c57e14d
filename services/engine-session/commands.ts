import type { EngineSessionId } from './events.js';

/** A new session begins: the engine that joins names no session, or one that is not open. */
export type OpenSession = { readonly type: 'OpenSession'; readonly id: EngineSessionId };

/** The session continues: its engine has sent a heartbeat, or has joined again and named the session. */
export type RenewSession = { readonly type: 'RenewSession'; readonly id: EngineSessionId };

/**
 * The session ends: its engine has left, has sent no heartbeat for too long, or another engine of its name has joined.
 */
export type EndSession = {
  readonly type: 'EndSession';
  readonly id: EngineSessionId;
  /**
   * The number of renewals that the session had when the sender last read it. If it has been renewed since, the engine
   * is alive and the command is refused. With `undefined` the session ends however often it was renewed.
   */
  readonly renewals: number | undefined;
  readonly cause: string;
};

export type EngineSessionCommand = OpenSession | RenewSession | EndSession;
