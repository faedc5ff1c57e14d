import { fromBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Notification } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { WorkflowExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import type { ExecutionCreated } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { executionCodec, type ExecutionEvent, flatFields } from '../../execution/events.js';
import { decodeEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { bytesOf, type PayloadStore } from '../../kernel/ports/payload-store.js';
import type { StreamName } from '../../kernel/stream.js';
import type { ExecutionId } from '../../kernel/execution-id.js';
import { uuidText } from '../../kernel/encoding/id-text.js';

/** An event of an execution that messages may be about. */
export type NotifiableEvent = {
  /** The execution's stream, and the event's revision in it. */
  readonly stream: StreamName;
  readonly revision: bigint;
};

/**
 * The content of a message: the execution, and the event that the message is about. Times are in milliseconds since
 * 1970.
 */
export type MessageContent = {
  readonly execution: ExecutionId;
  /** The event's id, a UUID, and its revision in the execution's stream. */
  readonly eventId: string;
  readonly revision: bigint;
  readonly phase: Phase;
  readonly createdAtMs: number;
  readonly occurredAtMs: number;
  readonly recordedAtMs: number;
  /** Set for an execution that was still running this long after the event, in milliseconds. */
  readonly runningLongerThanMs?: number | undefined;
  /** W3C trace context of the request behind the event. */
  readonly traceParent?: string | undefined;
  /** The reason why the execution has not succeeded, as the event gives it; empty where it gives none. */
  readonly error: string;
  /** The id of the node that failed first in the 256 events before this one; empty where none failed in them. */
  readonly failingNode: string;
  readonly workflow: Identifier | undefined;
  readonly launchPlan: Identifier | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** The notifications of the execution, as GetExecution shows them. */
  readonly entries: readonly Notification[];
  /** The execution asks for no messages at all. */
  readonly isDisabled: boolean;
};

export type ContentOptions = {
  readonly log: Pick<EventLog, 'readStream'>;
  readonly payloads: Pick<PayloadStore, 'get'>;
};

/** The number of events before the cause in which the node that failed is looked for. */
const LOOKED_BACK = 256n;

const NOTIFIED = [
  Phase.RUNNING,
  Phase.SUCCEEDED,
  Phase.FAILED,
  Phase.ABORTING,
  Phase.ABORTED,
  Phase.TIMED_OUT,
] as const;

/** The phases that messages can be about, by their numbers. */
const phases = new Map<number, Phase>(NOTIFIED.map((phase) => [phase, phase]));

/** The phase that an event brings its execution to; `undefined` when no message can be about it, or it is not new. */
export const phaseBrought = (event: ExecutionEvent): Phase | undefined => {
  switch (event.type) {
    case 'WorkflowPhaseReported':
      return event.data.samePhase ? undefined : phases.get(event.data.phase);
    case 'ExecutionExpired':
      return event.data.phase;
    case 'TerminationRequested':
      return Phase.ABORTING;
    default:
      return undefined;
  }
};

type Explanation = { readonly error: string; readonly occurredAtMs?: number };

/** The reason that an event gives, and the time when it happened, where it names one. */
const explanationIn = async (event: ExecutionEvent, payloads: ContentOptions['payloads']): Promise<Explanation> => {
  if (event.type === 'TerminationRequested' || event.type === 'ExecutionExpired') return { error: event.data.cause };
  if (event.type !== 'WorkflowPhaseReported') return { error: '' };
  const bytes = await bytesOf(event.data.message, payloads as PayloadStore);
  const { outputResult, occurredAt } = fromBinary(WorkflowExecutionEventSchema, bytes);
  return {
    error: outputResult.case === 'error' ? outputResult.value.message : '',
    ...(occurredAt && { occurredAtMs: timestampMs(occurredAt) }),
  };
};

const readEvents = async (
  log: ContentOptions['log'],
  stream: StreamName,
  from: bigint,
  to: bigint,
): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const page of log.readStream(stream, { from, limit: Number(to - from) + 1 })) events.push(...page);
  return events;
};

/** The node that failed first: the nodes around it fail after it. */
const failingNodeIn = (events: readonly RecordedEvent[]): string => {
  for (const event of events) {
    const { node = '', attempt, phase } = flatFields(event);
    if (attempt === undefined && phase === 'FAILED') return node;
  }
  return '';
};

/** The events up to the cause, in which the node that failed is looked for. */
const readUpTo = (
  log: ContentOptions['log'],
  { stream, revision }: NotifiableEvent,
): Promise<readonly RecordedEvent[]> =>
  readEvents(log, stream, revision > LOOKED_BACK ? revision - LOOKED_BACK : 0n, revision);

const idOf = ({ id }: ExecutionCreated): ExecutionId => ({
  project: id?.project ?? '',
  domain: id?.domain ?? '',
  name: id?.name ?? '',
});

/** True when the execution asks for no messages at all. */
const disablesAll = ({ spec }: ExecutionCreated): boolean =>
  spec?.notificationOverrides.case === 'disableAll' && spec.notificationOverrides.value;

const contentOfCreated = (created: ExecutionCreated) => ({
  execution: idOf(created),
  workflow: created.workflowId,
  launchPlan: created.launchPlanId,
  labels: created.config?.labels?.values ?? created.spec?.labels?.values ?? {},
  entries: created.notifications,
  isDisabled: disablesAll(created),
});

/** The first event of a stream after those of attempts that were voided before they created the execution. */
const firstOf = async (log: ContentOptions['log'], stream: StreamName): Promise<RecordedEvent | undefined> => {
  for (let at = 0n; ; at += 1n) {
    const [event] = await readEvents(log, stream, at, at);
    if (event?.type !== 'ExecutionVoided') return event;
  }
};

/** The creation of the execution; `undefined` where the event is none. */
const createdIn = (first: RecordedEvent | undefined): ExecutionCreated | undefined => {
  const event = first && decodeEvent(executionCodec, first);
  return event?.type === 'ExecutionCreated' ? event.data : undefined;
};

/** An event that messages can be about; `undefined` where the cause is none. */
const notifiedIn = (cause: RecordedEvent | undefined) => {
  if (!cause) return undefined;
  const event = decodeEvent(executionCodec, cause);
  const phase = phaseBrought(event);
  return phase === undefined ? undefined : { cause, event, phase };
};

type Notified = NonNullable<ReturnType<typeof notifiedIn>>;

const contentOf = async (
  { cause, event, phase }: Notified,
  created: ExecutionCreated,
  payloads: ContentOptions['payloads'],
) => {
  const { recordedAtMs, traceparent: traceParent } = recordedMetadata(cause);
  const { error, occurredAtMs = recordedAtMs } = await explanationIn(event, payloads);
  const { id: eventId, revision } = cause;
  return {
    ...contentOfCreated(created),
    eventId: uuidText(eventId),
    revision,
    phase,
    error,
    occurredAtMs,
    recordedAtMs,
    traceParent,
  };
};

/**
 * Reads the content of the messages about an event of an execution.
 *
 * @returns `undefined` when the event does not exist or brought no phase that messages can be about, or when the stream
 * has no creation of the execution.
 * @throws {StreamParked} when the execution's stream cannot be read.
 * @throws {Fault} when the log or a payload cannot be read.
 */
export const readContent = async (
  at: NotifiableEvent,
  { log, payloads }: ContentOptions,
): Promise<MessageContent | undefined> => {
  const first = await firstOf(log, at.stream);
  const before = await readUpTo(log, at);
  const created = createdIn(first);
  const notified = notifiedIn(before.find(({ revision }) => revision === at.revision));
  if (!first || !created || !notified) return undefined;
  const createdAtMs = recordedMetadata(first).recordedAtMs;
  return { ...(await contentOf(notified, created, payloads)), failingNode: failingNodeIn(before), createdAtMs };
};

/** The content of a message about an execution that was still running `runningLongerThanMs` after an event. */
export const longRunningContent = (content: MessageContent, runningLongerThanMs: number): MessageContent => ({
  ...content,
  runningLongerThanMs,
  occurredAtMs: content.recordedAtMs + runningLongerThanMs,
});
