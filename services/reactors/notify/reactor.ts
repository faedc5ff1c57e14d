import { durationMs } from '@bufbuild/protobuf/wkt';
import type { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { executionCodec } from '../../execution/events.js';
import { decodeEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { type StreamName, streamName } from '../../kernel/stream.js';
import type { MessageKey } from '../../notification/commands.js';
import { NOTIFICATION_CATEGORY, notificationCodec } from '../../notification/events.js';
import { type MeasuredReactor, whenDue } from '../frame/when-due.js';
import type { WorkResult } from '../frame/work-queue.js';
import { longRunningContent, type NotifiableEvent, phaseBrought, readContent } from './message-content.js';
import { messagesAbout, phasesWithMessages, withoutDuplicates } from './recipients.js';
import { begunMessages, keyOf } from './records.js';
import { type NotifyOptions, sending } from './sending.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';

/** Something to send messages about: an event of an execution, or the request to send one message again. */
type Item = { readonly cause: NotifiableEvent; readonly sinceMs: number; readonly resent?: MessageKey };

const EXECUTION_TYPES = ['WorkflowPhaseReported', 'EngineReported', 'ExecutionExpired', 'TerminationRequested'];

/** Events that are worked on at a time. */
const CONCURRENCY = 32;

const resentIn = (event: RecordedEvent): Item | undefined => {
  const { type, data } = decodeEvent(notificationCodec, event);
  const message = type === 'NotificationResendRequested' ? data.message : undefined;
  const resent = message && keyOf(message);
  if (!resent) return undefined;
  const { project, domain, name } = resent.execution;
  const stream: StreamName = streamName(EXECUTION_CATEGORY, [project, domain, name]);
  const { revision } = resent;
  return { cause: { stream, revision }, sinceMs: recordedMetadata(event).recordedAtMs, resent };
};

/**
 * Sends the messages about executions: those that the executions ask for, and those of the configured rules. The
 * stream of the execution's notifications records the outcome of each message, and decides whether one is sent, so that
 * any number of processes may do this at the same time.
 */
export const notify = (options: NotifyOptions): MeasuredReactor => {
  const { routing, send, reactorOf } = sending(options);
  const phases = phasesWithMessages(routing.rules);
  const startedAtMs = options.timers.now();

  /** Before this process started, a message may have been begun by a rule that has been removed since. */
  const mayHaveMessages = (phase: Phase, sinceMs: number): boolean => phases.has(phase) || sinceMs <= startedAtMs;

  const itemOf = (event: RecordedEvent): Item | undefined => {
    if (event.stream.startsWith(`${NOTIFICATION_CATEGORY}-`)) return resentIn(event);
    const phase = phaseBrought(decodeEvent(executionCodec, event));
    const sinceMs = recordedMetadata(event).recordedAtMs;
    if (phase === undefined || !mayHaveMessages(phase, sinceMs)) return undefined;
    return { cause: { stream: event.stream, revision: event.revision }, sinceMs };
  };

  const work = async ({ cause, sinceMs, resent }: Item): Promise<WorkResult> => {
    const content = await readContent(cause, options);
    if (!content) return undefined;
    if (!resent) {
      const begun = await begunMessages(options.sessions, content);
      return send(withoutDuplicates([...begun, ...messagesAbout(content, routing)]), content, sinceMs);
    }
    const { runningLongerThan } = resent;
    return send(
      [resent],
      runningLongerThan ? longRunningContent(content, durationMs(runningLongerThan)) : content,
      sinceMs,
    );
  };

  const filter = {
    categories: [EXECUTION_CATEGORY, NOTIFICATION_CATEGORY],
    types: [...EXECUTION_TYPES, 'NotificationResendRequested'],
  };
  return reactorOf(whenDue<Item>({ ...options, filter, afterMs: 0, concurrency: CONCURRENCY, itemOf, work }));
};
