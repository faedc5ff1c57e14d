import { durationMs } from '@bufbuild/protobuf/wkt';
import type { NotificationMessage } from '../../../proto/gen/platformidl/eventlog/notification_pb.js';
import { executionCodec } from '../../execution/events.js';
import { decodeEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { type StreamName, streamName } from '../../kernel/stream.js';
import type { MessageKey } from '../../notification/commands.js';
import { isFinished, notificationAggregate } from '../../notification/decider.js';
import { NOTIFICATION_CATEGORY, notificationCodec, notificationStream } from '../../notification/events.js';
import { type MeasuredReactor, whenDue } from '../frame/when-due.js';
import type { WorkResult } from '../frame/work-queue.js';
import {
  longRunningContent,
  type MessageContent,
  type NotifiableEvent,
  phaseBrought,
  readContent,
} from './message-content.js';
import { messagesAbout, phasesWithMessages } from './recipients.js';
import { type NotifyOptions, sending } from './sending.js';
import { EXECUTION_CATEGORY } from '../../kernel/execution-id.js';

/** Something to send messages about: an event of an execution, or the request to send one message again. */
type Item = { readonly cause: NotifiableEvent; readonly sinceMs: number; readonly resent?: MessageKey };

const EXECUTION_TYPES = ['WorkflowPhaseReported', 'EngineReported', 'ExecutionExpired', 'TerminationRequested'];

/** Events that are worked on at a time. */
const CONCURRENCY = 32;

/** The key of a recorded message; `undefined` where it names no execution. */
const keyOf = (message: NotificationMessage): MessageKey | undefined => {
  if (!message.execution) return undefined;
  const { project, domain, name } = message.execution;
  const { id, revision, phase, channel, recipient, runningLongerThan } = message;
  return { id, revision, phase, channel, recipient, execution: { project, domain, name }, runningLongerThan };
};

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

  const itemOf = (event: RecordedEvent): Item | undefined => {
    if (event.stream.startsWith(`${NOTIFICATION_CATEGORY}-`)) return resentIn(event);
    const phase = phaseBrought(decodeEvent(executionCodec, event));
    if (phase === undefined || !phases.has(phase)) return undefined;
    return { cause: { stream: event.stream, revision: event.revision }, sinceMs: recordedMetadata(event).recordedAtMs };
  };

  /** The messages about an event that have been begun and have no outcome; their rules may be removed since. */
  const begun = ({ execution, revision }: MessageContent): Promise<readonly MessageKey[]> =>
    options.sessions.read(notificationAggregate, notificationStream(execution), ({ state }) =>
      [...state.messages.values()]
        .filter((each) => !isFinished(each) && each.message.revision === revision && !each.message.runningLongerThan)
        .flatMap(({ message }) => keyOf(message) ?? []),
    );

  const keysOf = async (content: MessageContent): Promise<readonly MessageKey[]> => {
    const keys = [...(await begun(content)), ...messagesAbout(content, routing)];
    return [...new Map(keys.map((key) => [key.id, key])).values()];
  };

  const work = async ({ cause, sinceMs, resent }: Item): Promise<WorkResult> => {
    const content = await readContent(cause, options);
    if (!content) return undefined;
    if (!resent) return send(await keysOf(content), content, sinceMs);
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
