import type { NotificationMessage } from '../../../proto/gen/platformidl/eventlog/notification_pb.js';
import type { Outcome, Sessions } from '../../kernel/ports/sessions.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { MessageKey, NotificationCommand } from '../../notification/commands.js';
import { isFinished, notificationAggregate, type NotificationRefusal, obstacle } from '../../notification/decider.js';
import { notificationStream } from '../../notification/events.js';
import type { MessageContent } from './message-content.js';

/** A message that is due. */
export type DueMessage = {
  readonly key: MessageKey;
  readonly content: MessageContent;
  /** The time at which the message was first due, or asked for again; milliseconds since 1970. */
  readonly sinceMs: number;
};

/** The key of a recorded message; `undefined` where it names no execution. */
export const keyOf = (message: NotificationMessage): MessageKey | undefined => {
  if (!message.execution) return undefined;
  const { project, domain, name } = message.execution;
  const { id, revision, phase, channel, recipient, runningLongerThan } = message;
  return { id, revision, phase, channel, recipient, execution: { project, domain, name }, runningLongerThan };
};

/**
 * The messages about an event that have been begun and are not finished. The rules that asked for them may have been
 * removed since.
 */
export const begunMessages = (
  sessions: Pick<Sessions, 'read'>,
  { execution, revision, runningLongerThanMs }: MessageContent,
): Promise<readonly MessageKey[]> =>
  sessions.read(notificationAggregate, notificationStream(execution), ({ state }) =>
    [...state.messages.values()]
      .filter((each) => !isFinished(each))
      .flatMap(({ message }) => keyOf(message) ?? [])
      .filter((key) => key.revision === revision && !key.runningLongerThan === (runningLongerThanMs === undefined)),
  );

type RecordsOptions = {
  readonly sessions: Pick<Sessions, 'handle' | 'read'>;
  readonly timers: Pick<Timers, 'now'>;
  /** The longest that an attempt may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly onOutcome: (channel: string, outcome: 'digested') => void;
};

/** An attempt without an outcome is lost after twice the time that it may take. */
const LOST_AFTER_TIMEOUTS = 2;

/** The state of a message in the log. */
type KnownMessage = {
  readonly isKnown: boolean;
  /** The reason why no attempt can begin now; `undefined` when one can. */
  readonly refusal: NotificationRefusal | undefined;
  readonly count: number;
  /** The time at which it was last asked to be sent again, in milliseconds since 1970; 0 where it never was. */
  readonly requestedAtMs: number;
  readonly mayHaveArrived: boolean;
  readonly digest: readonly NotificationMessage[];
};

/** The functions that read and write what the log has about messages. */
type MessageRecords = {
  /** An attempt without an outcome is lost after this time, in milliseconds. */
  readonly lostAfterMs: number;
  /** @param step names the command among those about the message, so that it is recorded once. */
  readonly handle: (
    due: DueMessage,
    command: NotificationCommand,
    step: string,
  ) => Promise<Outcome<NotificationRefusal>>;
  readonly known: (key: MessageKey) => Promise<KnownMessage>;
  /** Records that a digest replaces its messages, except those that have an event already. */
  readonly recordDigested: (due: DueMessage, digest: readonly NotificationMessage[]) => Promise<void>;
};

/** Opens the records of messages. */
export const messageRecords = ({ sessions, timers, timeoutMs, onOutcome }: RecordsOptions): MessageRecords => {
  const lostAfterMs = LOST_AFTER_TIMEOUTS * timeoutMs;
  const handle: MessageRecords['handle'] = ({ key, content }, command, step) =>
    sessions.handle(notificationAggregate, notificationStream(key.execution), command, {
      actor: 'notify',
      commandId: `notify-${key.id}-${step}`,
      causationId: content.eventId,
      traceParent: content.traceParent,
    });

  const known: MessageRecords['known'] = (key) =>
    sessions.read(notificationAggregate, notificationStream(key.execution), ({ state }) => {
      const message = state.messages.get(key.id);
      const { attempts: count = 0, requestedAtMs = 0, mayHaveArrived = false, digest = [] } = message ?? {};
      const refusal = message && obstacle(message, { nowMs: timers.now(), lostAfterMs });
      return { isKnown: message !== undefined, refusal, count, requestedAtMs, mayHaveArrived, digest };
    });

  const recordOne = async (due: DueMessage, { execution, ...rest }: NotificationMessage): Promise<void> => {
    if (!execution) return;
    const digest = { id: due.key.id, execution: due.key.execution };
    const message = { ...rest, execution };
    const { isKnown } = await known(message);
    if (isKnown) return; // it was tried, given up or digested before
    await handle(
      { ...due, key: message },
      { type: 'DigestNotification', message, digest, nowMs: timers.now() },
      'digest',
    );
    onOutcome(due.key.channel, 'digested');
  };

  return {
    lostAfterMs,
    handle,
    known,
    recordDigested: async (due, digest) => {
      await Promise.all(digest.map((each) => recordOne(due, each)));
    },
  };
};
