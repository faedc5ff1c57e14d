import { EXECUTION_CATEGORY, executionCodec } from '../../execution/events.js';
import { decodeEvent } from '../../kernel/decode-event.js';
import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import type { Checkpoint } from '../../kernel/ports/checkpoint.js';
import type { EventLog } from '../../kernel/ports/event-store.js';
import { type StreamName, streamName } from '../../kernel/stream.js';
import type { MessageKey } from '../../notification/commands.js';
import { NOTIFICATION_CATEGORY, notificationCodec } from '../../notification/events.js';
import { type GivingUp, type MeasuredReactor, whenDue } from '../frame/when-due.js';
import type { Worked } from '../frame/work-queue.js';
import { type AttemptOptions, attempts } from './attempt.js';
import { type Cause, type Facts, type FactsOptions, phaseBrought, readFacts } from './facts.js';
import { messagesAbout, phasesOf, type Routing } from './recipients.js';

export type NotifyOptions = FactsOptions &
  Omit<AttemptOptions, 'closing'> & {
    readonly log: Pick<EventLog, 'subscribe' | 'readStream'>;
    readonly checkpoint: Checkpoint;
    readonly routing: Omit<Routing, 'isMail'>;
    /** Called with every failure; a failed item is retried unless its stream is parked. */
    readonly onFailure: (error: unknown) => void;
    readonly givingUp?: GivingUp;
  };

/** Something to send messages about: an event of an execution, or the request to send one message again. */
type Item = { readonly cause: Cause; readonly sinceMs: number; readonly resent?: MessageKey };

const EXECUTION_TYPES = ['WorkflowPhaseReported', 'EngineReported', 'ExecutionExpired', 'TerminationRequested'];

/** Events that are worked on at a time. */
const CONCURRENCY = 32;

const resentIn = (event: RecordedEvent): Item | undefined => {
  const { type, data } = decodeEvent(notificationCodec, event);
  const message = type === 'NotificationResendRequested' ? data.message : undefined;
  if (!message?.execution) return undefined;
  const { project, domain, name } = message.execution;
  const { id, revision, phase, channel, recipient } = message;
  const stream: StreamName = streamName(EXECUTION_CATEGORY, [project, domain, name]);
  const resent = { id, revision, phase, channel, recipient, execution: { project, domain, name } };
  return { cause: { stream, revision }, sinceMs: metadataOf(event).recordedAtMs, resent };
};

/** The earliest time of those given; `undefined` where all is finished. */
const earliest = (worked: readonly Worked[]): Worked => {
  const times = worked.flatMap((each) => (each ? [each.againAtMs] : []));
  return times.length === 0 ? undefined : { againAtMs: Math.min(...times) };
};

/**
 * Sends the messages about executions: those that the executions ask for, and those of the configured rules. What
 * becomes of each is recorded in the stream of the execution's notifications, on which it is decided whether a message
 * is sent, so that any number of processes may do this at the same time.
 */
export const notify = ({ routing: routes, ...options }: NotifyOptions): MeasuredReactor => {
  const closing = new AbortController();
  const routing = { ...routes, isMail: (name: string) => options.channels.get(name)?.channel.isMail === true };
  const phases = phasesOf(routing.rules);
  const attempt = attempts({ ...options, closing: closing.signal });

  const itemOf = (event: RecordedEvent): Item | undefined => {
    if (event.stream.startsWith(`${NOTIFICATION_CATEGORY}-`)) return resentIn(event);
    const phase = phaseBrought(decodeEvent(executionCodec, event));
    if (phase === undefined || !phases.has(phase)) return undefined;
    return { cause: { stream: event.stream, revision: event.revision }, sinceMs: metadataOf(event).recordedAtMs };
  };

  const messagesOf = ({ resent }: Item, facts: Facts): readonly MessageKey[] =>
    resent ? [resent] : messagesAbout(facts, routing);

  const settle = async (item: Item): Promise<Worked> => {
    const facts = await readFacts(item.cause, options);
    if (!facts) return undefined;
    const { sinceMs } = item;
    return earliest(await Promise.all(messagesOf(item, facts).map((key) => attempt({ key, facts, sinceMs }))));
  };

  const following = whenDue<Item>({
    ...options,
    filter: {
      categories: [EXECUTION_CATEGORY, NOTIFICATION_CATEGORY],
      types: [...EXECUTION_TYPES, 'NotificationResendRequested'],
    },
    afterMs: 0,
    concurrency: CONCURRENCY,
    itemOf,
    settle,
  });

  return {
    ended: following.ended,
    figures: () => following.figures(),
    close: async () => {
      closing.abort(new Error('the process stops'));
      await following.close();
      for (const { channel } of options.channels.values()) channel.close();
    },
  };
};
