import { create, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../proto/gen/platformidl/admin/event_pb.js';
import { WorkflowExecution_Phase as Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { CallError } from './call-error.js';
import { type InterfaceClient } from './client.js';
import { type EngineCounters, type EngineLogger, type EventWatch } from './options.js';
import { type EventReport } from './walk/effects.js';

const { createWorkflowEvent, createNodeEvent, createTaskEvent } = AdminService.method;

/**
 * The control plane accepts no more events of an execution from this walk: the execution has ended (`ended`), an event
 * was answered NOT_FOUND (`unknown`), a phase of the execution itself was refused (`refused`), or another engine has the
 * execution (`fenced`).
 */
export class ExecutionLost extends Error {
  override readonly name = 'ExecutionLost';
  readonly why: 'ended' | 'unknown' | 'refused' | 'fenced';

  constructor(why: ExecutionLost['why'], cause: CallError) {
    super(`${why}: ${cause.message}`, { cause });
    this.why = why;
  }
}

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

/**
 * Checks that a walk can continue after the control plane has refused an event.
 *
 * @throws {ExecutionLost} when the walk cannot continue.
 */
const assertCanContinue = (report: EventReport, error: CallError): void => {
  if (error.code === status.NOT_FOUND) throw new ExecutionLost('unknown', error);
  if (error.reason?.reason.case === 'incompatibleCluster') throw new ExecutionLost('fenced', error);
  if (report.kind !== 'workflow') return;
  const hasEnded = error.reason?.reason.case === 'alreadyInTerminalState';
  throw new ExecutionLost(hasEnded ? 'ended' : 'refused', error);
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
  readonly pace: () => Promise<void>;
  readonly counters: EngineCounters;
  readonly logger: EngineLogger;
  readonly watch?: EventWatch | undefined;
};

/** Sends events. Each is encoded once and retried with the same bytes until it is answered. */
export const createReporter = (needs: ReporterNeeds): Reporter => {
  const { client, pace, counters, logger, watch, producerId } = needs;
  const now = createClock();
  const { events } = counters;

  const onRefusal = (report: EventReport, error: CallError): void => {
    if (error.code === status.ALREADY_EXISTS) {
      events.alreadyExists++;
      countEnd(counters, report);
      return;
    }
    events.refused++;
    logger.debug({ kind: report.kind, code: status[error.code], text: error.message }, 'event refused');
    assertCanContinue(report, error);
  };

  return async (report) => {
    await pace();
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
      onRefusal(report, error);
    }
  };
};
