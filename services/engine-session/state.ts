import type { EngineSessionEvent } from './events.js';

/** The state of a session. It is never opened again once it has ended. */
export type EngineSessionState = {
  readonly phase: 'absent' | 'open' | 'ended';
  /** The number of renewals. */
  readonly renewals: number;
};

export const initialSession = (): EngineSessionState => ({ phase: 'absent', renewals: 0 });

export const evolveSession = (state: EngineSessionState, { type }: EngineSessionEvent): EngineSessionState => {
  switch (type) {
    case 'EngineSessionOpened':
      return { ...state, phase: 'open' };
    case 'EngineSessionRenewed':
      return { ...state, renewals: state.renewals + 1 };
    case 'EngineSessionEnded':
      return { ...state, phase: 'ended' };
  }
};
