import type { DescMessage, DescMethodUnary } from '@bufbuild/protobuf';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { contextOf } from '../../kernel/command-context.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { bytesRoute, type Call, type Route } from '../../kernel/rpc.js';
import type { Sessions } from '../../kernel/ports/sessions.js';
import { type ExecutionAggregate } from '../aggregate.js';
import type { Entity } from '../wire/engine-report.js';
import { executionExists } from '../creation.js';
import { envelopeScan } from '../wire/envelope-scan.js';
import { refusalError } from './refusals.js';
import { executionStream } from '../../kernel/execution-id.js';

export type EventServices = {
  readonly sessions: Sessions;
  readonly aggregate: ExecutionAggregate;
  readonly log: Pick<EventLog, 'readStream'>;
  /** The largest output_data in an event, in bytes. */
  readonly maxOutputBytes: number;
};

/** The responses have no fields. */
const EMPTY = new Uint8Array();

const eventRoute = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  entity: Entity,
  { sessions, aggregate, log, maxOutputBytes }: EventServices,
): Route => {
  const scan = envelopeScan(entity, maxOutputBytes);
  const handle = async (request: Uint8Array, call: Call): Promise<Uint8Array> => {
    const envelope = scan(request);
    const { execution: id, nodeId, taskId, retryAttempt, child } = envelope;
    // A child is created before its parent reports it, so the log has it by now.
    const isChildKnown = child === undefined || (await executionExists(log, child));
    const command = { type: 'ReportPhase', id, envelope, isChildKnown } as const;
    const answer = sessions.handle(aggregate, executionStream(id), command, contextOf(call));
    call.onQueued?.();
    const outcome = await answer;
    call.answeredAt(outcome.position);
    if (outcome.kind === 'refused') throw refusalError(outcome.refusal, { id, nodeId, taskId, retryAttempt });
    return EMPTY;
  };
  return bytesRoute(method, handle);
};

/**
 * The routes of the engine events. An event of an engine becomes the command `ReportPhase`. The server reads only its
 * envelope and records the message as received.
 */
export const eventRoutes = (services: EventServices): readonly Route[] => [
  eventRoute(AdminService.method.createWorkflowEvent, 'workflow', services),
  eventRoute(AdminService.method.createNodeEvent, 'node', services),
  eventRoute(AdminService.method.createTaskEvent, 'task', services),
];
