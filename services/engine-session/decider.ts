import { create } from '@bufbuild/protobuf';

import {
  EngineSessionEndedSchema,
  EngineSessionOpenedSchema,
  EngineSessionRenewedSchema,
} from '../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type { EndSession, EngineSessionCommand } from './commands.js';
import { ENGINE_SESSION_CATEGORY, engineSessionCodec, type EngineSessionEvent } from './events.js';
import { type EngineSessionState, evolveSession, initialSession } from './state.js';

/**
 * `session-over`: the session has ended, or never began; its id is random, so no other process begins it later.
 * `session-renewed`: it has more renewals than the command names.
 */
export type EngineSessionRefusal = { readonly kind: 'session-over' } | { readonly kind: 'session-renewed' };

type Verdict = Decision<EngineSessionEvent, EngineSessionRefusal>;

const accepted = (...events: readonly EngineSessionEvent[]): Verdict => ({ kind: 'accepted', events });

/** Ends a session once; refuses when the session was renewed after the sender read it. */
const decideEnd = (state: EngineSessionState, { id, renewals, cause }: EndSession): Verdict => {
  if (state.phase !== 'open') return accepted();
  if (renewals !== undefined && state.renewals > renewals)
    return { kind: 'refused', refusal: { kind: 'session-renewed' } };
  const data = create(EngineSessionEndedSchema, { session: id.session, cause });
  return accepted({ type: 'EngineSessionEnded', data });
};

const decide = (state: EngineSessionState, command: EngineSessionCommand): Verdict => {
  const { id } = command;
  switch (command.type) {
    case 'OpenSession':
      if (state.phase === 'open') return accepted();
      if (state.phase === 'ended') return { kind: 'refused', refusal: { kind: 'session-over' } };
      return accepted({ type: 'EngineSessionOpened', data: create(EngineSessionOpenedSchema, id) });
    case 'RenewSession':
      if (state.phase !== 'open') return { kind: 'refused', refusal: { kind: 'session-over' } };
      return accepted({
        type: 'EngineSessionRenewed',
        data: create(EngineSessionRenewedSchema, { session: id.session }),
      });
    case 'EndSession':
      return decideEnd(state, command);
  }
};

export const engineSessionDecider: Decider<
  EngineSessionState,
  EngineSessionCommand,
  EngineSessionEvent,
  EngineSessionRefusal
> = { initial: initialSession, evolve: evolveSession, decide };

const STATE_BYTES = 50;

export const engineSessionAggregate: Aggregate<
  EngineSessionState,
  EngineSessionCommand,
  EngineSessionEvent,
  EngineSessionRefusal
> = {
  category: ENGINE_SESSION_CATEGORY,
  decider: engineSessionDecider,
  codec: engineSessionCodec,
  payloadScope: () => 'engine-sessions',
  createsStream: ({ type }) => type === 'OpenSession',
  urgencyOf: () => 'end',
  isPermanentRefusal: ({ kind }) => kind === 'session-over',
  sizeOf: () => STATE_BYTES,
  isOver: ({ phase }) => phase === 'ended',
};
