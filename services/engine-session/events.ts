import {
  type EngineSessionEnded,
  EngineSessionEndedSchema,
  type EngineSessionOpened,
  EngineSessionOpenedSchema,
  type EngineSessionRenewed,
  EngineSessionRenewedSchema,
} from '../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import { eventShape, messageCodec, sinceFormat } from '../kernel/encoding/message-codec.js';
import { FORMAT_WITH_LEASES } from '../kernel/log-format.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `engineSession-:{group}:{engine}:{session}`. */
export const ENGINE_SESSION_CATEGORY = 'engineSession';

/** A session of an engine of the feed. */
export type EngineSessionId = { readonly group: string; readonly engine: string; readonly session: string };

export type EngineSessionEvent =
  | { readonly type: 'EngineSessionOpened'; readonly data: EngineSessionOpened }
  | { readonly type: 'EngineSessionRenewed'; readonly data: EngineSessionRenewed }
  | { readonly type: 'EngineSessionEnded'; readonly data: EngineSessionEnded };

/**
 * The first component is empty; in streams of projects it is the project. So only callers that may read all projects
 * see these streams.
 */
export const engineSessionStream = ({ group, engine, session }: EngineSessionId): StreamName =>
  streamName(ENGINE_SESSION_CATEGORY, ['', group, engine, session]);

export const engineSessionCodec = messageCodec<EngineSessionEvent>({
  EngineSessionOpened: sinceFormat(FORMAT_WITH_LEASES, eventShape(EngineSessionOpenedSchema)),
  EngineSessionRenewed: sinceFormat(FORMAT_WITH_LEASES, eventShape(EngineSessionRenewedSchema)),
  EngineSessionEnded: sinceFormat(FORMAT_WITH_LEASES, eventShape(EngineSessionEndedSchema)),
});
