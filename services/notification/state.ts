import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { NotificationMessage, NotificationStarted } from '../../proto/gen/platformidl/eventlog/notification_pb.js';
import type { NotificationEvent } from './events.js';
import type { ExecutionId } from '../kernel/execution-id.js';

/** The status of a message. Times are in milliseconds since 1970. */
export type MessageStatus =
  | { readonly kind: 'sending'; readonly attempt: string; readonly sinceMs: number }
  | {
      readonly kind: 'waiting';
      readonly reason: string;
      readonly sinceMs: number;
      readonly nextAttemptAtMs: number;
    }
  | { readonly kind: 'sent'; readonly answer: string; readonly sinceMs: number }
  | { readonly kind: 'given-up'; readonly reason: string; readonly sinceMs: number }
  /** The message `id` about another execution stands for it. */
  | { readonly kind: 'digested'; readonly id: string; readonly execution: ExecutionId; readonly sinceMs: number };

export type MessageState = {
  readonly message: NotificationMessage;
  readonly status: MessageStatus;
  /** Attempts so far. */
  readonly attempts: number;
  /** Attempts of which it is not known whether they sent the message, since it was last asked for. */
  readonly unknowns: number;
  /** The time at which it was last asked to be sent again, in milliseconds since 1970; 0 where it never was. */
  readonly requestedAtMs: number;
  /** The recipient may have the message already. */
  readonly mayHaveArrived: boolean;
  /** The messages that this one stands for. */
  readonly digest: readonly NotificationMessage[];
};

/** The messages about one execution, by their ids, in the order of their first events; one without events is absent. */
export type NotificationState = { readonly messages: Map<string, MessageState> };

export const initialNotifications = (): NotificationState => ({ messages: new Map() });

const msOf = (time: Timestamp | undefined): number => (time ? timestampMs(time) : 0);

/** A message in a new status; what else is known of it stays. */
const inStatus = (
  before: MessageState | undefined,
  message: NotificationMessage,
  status: MessageStatus,
): MessageState => ({
  attempts: 0,
  unknowns: 0,
  requestedAtMs: 0,
  mayHaveArrived: false,
  digest: [],
  ...before,
  message,
  status,
});

/** If an attempt begins while an earlier one has no outcome, the outcome of the earlier one counts as unknown. */
const started = (
  before: MessageState | undefined,
  message: NotificationMessage,
  { attempt, startedAt, isRepeat, digest }: NotificationStarted,
): MessageState => {
  const after = inStatus(before, message, { kind: 'sending', attempt, sinceMs: msOf(startedAt) });
  return {
    ...after,
    attempts: after.attempts + 1,
    unknowns: after.unknowns + (before?.status.kind === 'sending' ? 1 : 0),
    mayHaveArrived: isRepeat,
    digest: before?.digest ?? digest,
  };
};

const changed = (before: MessageState, event: NotificationEvent): MessageState => {
  if (event.type === 'NotificationSent') {
    const { answer, sentAt } = event.data;
    return { ...before, status: { kind: 'sent', answer, sinceMs: msOf(sentAt) }, mayHaveArrived: true };
  }
  if (event.type !== 'NotificationFailed') return before;
  const { reason, failedAt, nextAttemptAt, isUnknown } = event.data;
  return {
    ...before,
    status: { kind: 'waiting', reason, sinceMs: msOf(failedAt), nextAttemptAtMs: msOf(nextAttemptAt) },
    unknowns: before.unknowns + (isUnknown ? 1 : 0),
    mayHaveArrived: before.mayHaveArrived || isUnknown,
  };
};

const withMessage = (
  before: MessageState | undefined,
  message: NotificationMessage,
  event: NotificationEvent,
): MessageState | undefined => {
  switch (event.type) {
    case 'NotificationStarted':
      return started(before, message, event.data);
    case 'NotificationGivenUp': {
      const { reason, givenUpAt, isUnknown } = event.data;
      const after = inStatus(before, message, { kind: 'given-up', reason, sinceMs: msOf(givenUpAt) });
      return { ...after, mayHaveArrived: after.mayHaveArrived || isUnknown };
    }
    case 'NotificationDigested': {
      const { digestId: id, digestExecution, digestedAt } = event.data;
      const execution = digestExecution ?? { project: '', domain: '', name: '' };
      return inStatus(before, message, { kind: 'digested', id, execution, sinceMs: msOf(digestedAt) });
    }
    case 'NotificationResendRequested': {
      const sinceMs = msOf(event.data.requestedAt);
      const status = { kind: 'waiting', reason: '', sinceMs, nextAttemptAtMs: sinceMs } as const;
      return { ...inStatus(before, message, status), unknowns: 0, requestedAtMs: sinceMs };
    }
    default:
      return before;
  }
};

export const evolveNotifications = (state: NotificationState, event: NotificationEvent): NotificationState => {
  const { data } = event;
  const id = 'messageId' in data ? data.messageId : (data.message?.id ?? '');
  const before = state.messages.get(id);
  const message = 'message' in data ? data.message : undefined;
  const after = message ? withMessage(before, message, event) : before && changed(before, event);
  if (after) state.messages.set(id, after);
  return state;
};
