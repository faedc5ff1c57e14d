import {
  type ExecutionCreated,
  ExecutionCreatedSchema,
  type ExecutionExpired,
  ExecutionExpiredSchema,
  type ExecutionStateChanged,
  ExecutionStateChangedSchema,
  type ExecutionTagged,
  ExecutionTaggedSchema,
  type SignalCreated,
  SignalCreatedSchema,
  type SignalSet,
  SignalSetSchema,
  type ExecutionVoided,
  ExecutionVoidedSchema,
  type TerminationRequested,
  type TerminationAnnounced,
  TerminationAnnouncedSchema,
  TerminationRequestedSchema,
} from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { eventShape, messageCodec } from '../kernel/message-codec.js';
import { decodeReport, encodeReport, type EngineReport } from './engine-report.js';
import { isTerminal } from './phases.js';

export type { EngineReport } from './engine-report.js';
export { toldNode, type ToldNode } from './told-node.js';

/** The category of the streams, `execution-{project}:{domain}:{name}`. */
export const EXECUTION_CATEGORY = 'execution';

/** What happens to an execution, its nodes and its tasks. */
export type ExecutionEvent =
  | { readonly type: 'ExecutionCreated'; readonly data: ExecutionCreated }
  | { readonly type: 'ExecutionVoided'; readonly data: ExecutionVoided }
  | { readonly type: 'EngineReported'; readonly data: EngineReport }
  | { readonly type: 'TerminationRequested'; readonly data: TerminationRequested }
  | { readonly type: 'TerminationAnnounced'; readonly data: TerminationAnnounced }
  | { readonly type: 'ExecutionExpired'; readonly data: ExecutionExpired }
  | { readonly type: 'ExecutionStateChanged'; readonly data: ExecutionStateChanged }
  | { readonly type: 'ExecutionTagged'; readonly data: ExecutionTagged }
  | { readonly type: 'SignalCreated'; readonly data: SignalCreated }
  | { readonly type: 'SignalSet'; readonly data: SignalSet };

export const executionCodec = messageCodec<ExecutionEvent>({
  ExecutionCreated: eventShape(ExecutionCreatedSchema, ({ inputs, userInputs }) => [inputs, userInputs]),
  ExecutionVoided: eventShape(ExecutionVoidedSchema),
  EngineReported: {
    encode: encodeReport,
    decode: decodeReport,
    contents: (report) => [report.message, report.closed],
  },
  TerminationRequested: eventShape(TerminationRequestedSchema),
  TerminationAnnounced: eventShape(TerminationAnnouncedSchema),
  ExecutionExpired: eventShape(ExecutionExpiredSchema, ({ closed }) => [closed]),
  ExecutionStateChanged: eventShape(ExecutionStateChangedSchema),
  ExecutionTagged: eventShape(ExecutionTaggedSchema),
  SignalCreated: eventShape(SignalCreatedSchema),
  SignalSet: eventShape(SignalSetSchema, ({ value }) => [value]),
});

/** Whether an execution has ended with this event. */
export const endsExecution = ({ type, data }: ExecutionEvent): boolean =>
  type === 'ExecutionExpired' ||
  (type === 'EngineReported' && data.entity === 'workflow' && !data.samePhase && isTerminal('workflow', data.phase));
