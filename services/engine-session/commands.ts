import type { EngineSessionId } from './events.js';

/** An engine joins without an earlier session. */
export type OpenSession = { readonly type: 'OpenSession'; readonly id: EngineSessionId };

/** The engine has sent a heartbeat. */
export type RenewSession = { readonly type: 'RenewSession'; readonly id: EngineSessionId };

/** The engine has left, or has sent no heartbeat for too long. */
export type EndSession = {
  readonly type: 'EndSession';
  readonly id: EngineSessionId;
  /** The number of renewals that the sender has read: with more, the command is refused. `undefined` ends the session in any case. */
  readonly renewals: number | undefined;
  readonly cause: string;
};

export type EngineSessionCommand = OpenSession | RenewSession | EndSession;
