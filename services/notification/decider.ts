import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import {
  NotificationDigestedSchema,
  NotificationFailedSchema,
  NotificationGivenUpSchema,
  NotificationMessageSchema,
  NotificationResendRequestedSchema,
  NotificationSentSchema,
  NotificationStartedSchema,
} from '../../proto/gen/platformidl/eventlog/notification_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type {
  BeginNotification,
  DigestNotification,
  EndNotification,
  GiveUpNotification,
  MessageKey,
  NotificationCommand,
  ResendNotification,
} from './commands.js';
import { NOTIFICATION_CATEGORY, notificationCodec, type NotificationEvent } from './events.js';
import { evolveNotifications, initialNotifications, type MessageState, type NotificationState } from './state.js';

export type NotificationRefusal =
  /** The message is not to be sent now. */
  | { readonly kind: 'not-due'; readonly againAtMs: number }
  /** An attempt to send it is running. */
  | { readonly kind: 'in-progress'; readonly againAtMs: number }
  /** It was sent or given up, or another message stands for it; `isGivenUpNow` when this command has given it up. */
  | { readonly kind: 'finished'; readonly isGivenUpNow?: true }
  | { readonly kind: 'no-such-message' };

type Verdict = Decision<NotificationEvent, NotificationRefusal>;

/** Attempts whose outcome may remain unknown: after the second one the message is not sent again. */
const MAX_UNKNOWN = 2;

const TWICE_UNKNOWN = 'it is not known whether the message was sent, and it was repeated once';

const accepted = (...events: readonly NotificationEvent[]): Verdict => ({ kind: 'accepted', events });

const refused = (refusal: NotificationRefusal, ...events: readonly NotificationEvent[]): Verdict => ({
  kind: 'refused',
  refusal,
  events,
});

const givenUp = (message: MessageKey, reason: string, nowMs: number, isUnknown: boolean): NotificationEvent => ({
  type: 'NotificationGivenUp',
  data: create(NotificationGivenUpSchema, {
    message: create(NotificationMessageSchema, message),
    reason,
    givenUpAt: timestampFromMs(nowMs),
    isUnknown,
  }),
});

/** The key of a message that is recorded. */
const keyOf = ({ message }: MessageState): MessageKey => ({
  ...message,
  execution: message.execution ?? { project: '', domain: '', name: '' },
});

const FINISHED: readonly MessageState['status']['kind'][] = ['sent', 'given-up', 'digested'];

/** True when nothing is to be sent any more, unless a request to send the message again follows. */
export const isFinished = ({ status }: MessageState): boolean => FINISHED.includes(status.kind);

/** The reason that an attempt cannot begin now; `undefined` when it can, and when the one that runs counts as lost. */
export const obstacle = (
  known: MessageState,
  { nowMs, lostAfterMs }: Pick<BeginNotification, 'nowMs' | 'lostAfterMs'>,
): NotificationRefusal | undefined => {
  const { status } = known;
  if (isFinished(known)) return { kind: 'finished' };
  if (status.kind === 'waiting' && status.nextAttemptAtMs > nowMs)
    return { kind: 'not-due', againAtMs: status.nextAttemptAtMs };
  if (status.kind === 'sending' && status.sinceMs + lostAfterMs > nowMs)
    return { kind: 'in-progress', againAtMs: status.sinceMs + lostAfterMs };
  return undefined;
};

/**
 * True when an attempt is recorded as running; it is lost where {@link obstacle} has found that it runs for too long.
 */
const isSending = (known: MessageState | undefined): boolean => known?.status.kind === 'sending';

const startOf = (
  known: MessageState | undefined,
  { message, attempt, nowMs, digest = [] }: BeginNotification,
): NotificationEvent => ({
  type: 'NotificationStarted',
  data: create(NotificationStartedSchema, {
    message: create(NotificationMessageSchema, message),
    attempt,
    startedAt: timestampFromMs(nowMs),
    isRepeat: isSending(known) || (known?.mayHaveArrived ?? false),
    digest: known ? [] : [...digest],
  }),
});

const begin = ({ messages }: NotificationState, command: BeginNotification): Verdict => {
  const { message, attempt, nowMs } = command;
  const known = messages.get(message.id);
  if (known?.status.kind === 'sending' && known.status.attempt === attempt) return accepted();
  const refusal = known && obstacle(known, command);
  if (refusal) return refused(refusal);
  if (known && isSending(known) && known.unknowns + 1 >= MAX_UNKNOWN)
    return refused({ kind: 'finished', isGivenUpNow: true }, givenUp(message, TWICE_UNKNOWN, nowMs, true));
  return accepted(startOf(known, command));
};

const failed = (known: MessageState, command: EndNotification): Verdict => {
  const { messageId, attempt, outcome, nowMs, nextAttemptAtMs, giveUpAtMs } = command;
  if (outcome.kind === 'sent') return accepted();
  const { kind, reason } = outcome;
  const isUnknown = kind === 'unknown';
  if (kind === 'refused') return accepted(givenUp(keyOf(known), reason, nowMs, false));
  if (isUnknown && known.unknowns + 1 >= MAX_UNKNOWN)
    return accepted(givenUp(keyOf(known), `${TWICE_UNKNOWN}: ${reason}`, nowMs, true));
  if (nextAttemptAtMs > giveUpAtMs)
    return accepted(givenUp(keyOf(known), `failed for too long: ${reason}`, nowMs, isUnknown));
  const data = create(NotificationFailedSchema, {
    messageId,
    attempt,
    reason,
    failedAt: timestampFromMs(nowMs),
    nextAttemptAt: timestampFromMs(nextAttemptAtMs),
    isUnknown,
  });
  return accepted({ type: 'NotificationFailed', data });
};

/** An attempt that is no longer the current one can still report that it sent the message, but not that it failed. */
const end = ({ messages }: NotificationState, command: EndNotification): Verdict => {
  const { messageId, attempt, outcome, nowMs } = command;
  const known = messages.get(messageId);
  if (!known) return refused({ kind: 'no-such-message' });
  if (outcome.kind === 'sent') {
    if (known.status.kind === 'sent') return accepted();
    const { answer } = outcome;
    const sentAt = timestampFromMs(nowMs);
    const data = create(NotificationSentSchema, { messageId, attempt, answer, sentAt });
    return accepted({ type: 'NotificationSent', data });
  }
  const isCurrent = known.status.kind === 'sending' && known.status.attempt === attempt;
  return isCurrent ? failed(known, command) : accepted();
};

const giveUp = ({ messages }: NotificationState, { message, reason, nowMs }: GiveUpNotification): Verdict => {
  const known = messages.get(message.id);
  return known && isFinished(known) ? accepted() : accepted(givenUp(message, reason, nowMs, isSending(known)));
};

/** Records nothing for a message with an event: it was tried, given up or digested before. */
const digest = ({ messages }: NotificationState, { message, digest: by, nowMs }: DigestNotification): Verdict =>
  messages.has(message.id)
    ? accepted()
    : accepted({
        type: 'NotificationDigested',
        data: create(NotificationDigestedSchema, {
          message: create(NotificationMessageSchema, message),
          digestId: by.id,
          digestExecution: by.execution,
          digestedAt: timestampFromMs(nowMs),
        }),
      });

const resend = ({ messages }: NotificationState, { messageId, principal, nowMs }: ResendNotification): Verdict => {
  const known = messages.get(messageId);
  if (!known) return refused({ kind: 'no-such-message' });
  if (known.status.kind === 'sending') return refused({ kind: 'in-progress', againAtMs: nowMs });
  const requestedAt = timestampFromMs(nowMs);
  const data = create(NotificationResendRequestedSchema, { message: known.message, principal, requestedAt });
  return accepted({ type: 'NotificationResendRequested', data });
};

const decide = (state: NotificationState, command: NotificationCommand): Verdict => {
  switch (command.type) {
    case 'BeginNotification':
      return begin(state, command);
    case 'EndNotification':
      return end(state, command);
    case 'GiveUpNotification':
      return giveUp(state, command);
    case 'DigestNotification':
      return digest(state, command);
    case 'ResendNotification':
      return resend(state, command);
  }
};

const notificationDecider: Decider<NotificationState, NotificationCommand, NotificationEvent, NotificationRefusal> = {
  initial: initialNotifications,
  evolve: evolveNotifications,
  decide,
};

const STATE_BYTES = 200;
const MESSAGE_BYTES = 700;
const DIGESTED_BYTES = 500;

export const notificationAggregate: Aggregate<
  NotificationState,
  NotificationCommand,
  NotificationEvent,
  NotificationRefusal
> = {
  category: NOTIFICATION_CATEGORY,
  decider: notificationDecider,
  codec: notificationCodec,
  payloadScope: () => 'notifications',
  isPermanentRefusal: () => false,
  sizeOf: ({ messages }) =>
    [...messages.values()].reduce((sum, { digest: { length } }) => sum + length * DIGESTED_BYTES, STATE_BYTES) +
    messages.size * MESSAGE_BYTES,
};
