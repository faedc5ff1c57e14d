import { create, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../proto/gen/platformidl/admin/event_pb.js';
import { WorkflowExecution_Phase as Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { isExecutionEnd } from './active-executions.js';
import { CallError } from './call-error.js';
import { type InterfaceClient } from './client.js';
import { ExecutionLost, type LossReason } from './execution-lost.js';
import { type EngineCounters, type EngineLogger, type EventWatch } from './options.js';
import { type EventReport } from './walk/effects.js';

const { createWorkflowEvent, createNodeEvent, createTaskEvent, getExecution } = AdminService.method;

/** A clock that is strictly increasing, by at least a microsecond. */
const createClock = (): (() => Timestamp) => {
  let last = 0;
  return () => {
    last = Math.max(last + 1, Math.floor((performance.timeOrigin + performance.now()) * 1000));
    return create(TimestampSchema, {
      seconds: BigInt(Math.floor(last / 1_000_000)),
      nanos: (last % 1_000_000) * 1000,
    });
  };
};

type Encoded = {
  readonly method: typeof createNodeEvent | typeof createTaskEvent | typeof createWorkflowEvent;
  readonly bytes: Uint8Array;
};

const encode = (report: EventReport, now: Timestamp, producerId: string | undefined): Encoded => {
  const { event } = report;
  event.occurredAt = now;
  if (producerId !== undefined) event.producerId = producerId;
  if (report.kind === 'workflow') {
    const request = { event: report.event };
    return { method: createWorkflowEvent, bytes: bytesOf(WorkflowExecutionEventRequestSchema, request) };
  }
  report.event.reportedAt = now;
  if (report.kind === 'node') {
    return { method: createNodeEvent, bytes: bytesOf(NodeExecutionEventRequestSchema, { event: report.event }) };
  }
  for (const reason of report.event.reasons) reason.occurredAt = now;
  return { method: createTaskEvent, bytes: bytesOf(TaskExecutionEventRequestSchema, { event: report.event }) };
};

type RequestSchema =
  | typeof WorkflowExecutionEventRequestSchema
  | typeof NodeExecutionEventRequestSchema
  | typeof TaskExecutionEventRequestSchema;

const bytesOf = <Desc extends RequestSchema>(schema: Desc, fields: Pick<MessageShape<Desc>, 'event'>): Uint8Array => {
  const request = create(schema);
  request.event = fields.event;
  return toBinary(schema, request);
};

const ENDS: Readonly<Partial<Record<Phase, keyof EngineCounters['executions']>>> = {
  [Phase.SUCCEEDED]: 'SUCCEEDED',
  [Phase.FAILED]: 'FAILED',
  [Phase.ABORTED]: 'ABORTED',
};

const countEnd = (counters: EngineCounters, report: EventReport): void => {
  const end = report.kind === 'workflow' ? ENDS[report.event.phase] : undefined;
  if (end) counters.executions[end]++;
};

const executionOf = (report: EventReport): WorkflowExecutionIdentifier | undefined => {
  if (report.kind === 'workflow') return report.event.executionId;
  return (report.kind === 'node' ? report.event.id : report.event.parentNodeExecutionId)?.executionId;
};

/** Reads whether the execution of a report has ended. */
const hasEnded = async (client: InterfaceClient, report: EventReport): Promise<boolean> => {
  const id = executionOf(report);
  const { closure } = await client.call(getExecution, id ? { id } : {});
  return isExecutionEnd(closure?.phase ?? Phase.UNDEFINED);
};

/** Statuses of a report that is never accepted: the client sends again what may be accepted later. */
const NEVER_ACCEPTED: ReadonlySet<status> = new Set([
  status.INVALID_ARGUMENT,
  status.OUT_OF_RANGE,
  status.RESOURCE_EXHAUSTED,
]);

/**
 * The reason for which a walk cannot continue after a refusal. `undefined` when it can, because only the node or the
 * task of the event has ended: an earlier walk had reported the end.
 */
const lossBy = async (
  client: InterfaceClient,
  report: EventReport,
  error: CallError,
): Promise<LossReason | undefined> => {
  if (error.code === status.NOT_FOUND) return 'unknown';
  if (NEVER_ACCEPTED.has(error.code)) return 'invalid';
  const reason = error.reason?.reason.case;
  if (reason === 'incompatibleCluster') return 'fenced';
  if (reason !== 'alreadyInTerminalState') return 'refused';
  return report.kind === 'workflow' || (await hasEnded(client, report)) ? 'ended' : undefined;
};

/**
 * Sends an event, and resolves when it is answered.
 *
 * @throws {ExecutionLost} when the walk cannot continue after the answer.
 */
export type Reporter = (report: EventReport) => Promise<void>;

type ReporterNeeds = {
  readonly client: InterfaceClient;
  /** The name of the engine in its events; by default events keep the producer id of the walk, `propeller`. */
  readonly producerId?: string | undefined;
  readonly counters: EngineCounters;
  readonly logger: EngineLogger;
  readonly watch?: EventWatch | undefined;
};

/** Sends events. Each is encoded once and retried with the same bytes until it is answered. */
export const createReporter = (needs: ReporterNeeds): Reporter => {
  const { client, counters, logger, watch, producerId } = needs;
  const now = createClock();
  const { events } = counters;

  const onRefusal = async (report: EventReport, error: CallError): Promise<void> => {
    if (error.code === status.ALREADY_EXISTS) {
      events.alreadyExists++;
      countEnd(counters, report);
      return;
    }
    events.refused++;
    logger.debug({ kind: report.kind, code: status[error.code], text: error.message }, 'event refused');
    const reason = await lossBy(client, report, error);
    if (reason !== undefined) throw new ExecutionLost(reason, error.message, error);
  };

  return async (report) => {
    const { method, bytes } = encode(report, now(), producerId);
    watch?.sending(bytes);
    try {
      events.repeated += await client.send(method, bytes);
      watch?.answered(bytes, 'recorded');
      events.sent++;
      events.ok++;
      countEnd(counters, report);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      events.sent++;
      events.repeated += error.repeats;
      watch?.answered(bytes, error.code === status.ALREADY_EXISTS ? 'repeated' : 'refused');
      await onRefusal(report, error);
    }
  };
};
