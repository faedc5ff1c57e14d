import type { Duration } from '@bufbuild/protobuf/wkt';
import type { WorkflowExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { ExecutionId } from '../kernel/execution-id.js';

/** A message about one event of an execution to one recipient. The shape of `eventlog.NotificationMessage`. */
export type MessageKey = {
  readonly id: string;
  readonly execution: ExecutionId;
  /** Revision of the event in the execution's stream. */
  readonly revision: bigint;
  readonly phase: WorkflowExecution_Phase;
  readonly channel: string;
  readonly recipient: string;
  /** Set for a message about an execution that was still running this long after the event. */
  readonly runningLongerThan?: Duration | undefined;
};

/** Begins an attempt to send a message. */
export type BeginNotification = {
  readonly type: 'BeginNotification';
  readonly message: MessageKey;
  readonly attempt: string;
  readonly nowMs: number;
  /** An attempt that has no outcome after this time, in milliseconds, counts as lost. */
  readonly lostAfterMs: number;
  /** Messages that this one is to stand for. */
  readonly digest?: readonly MessageKey[];
};

/** The outcome of an attempt. All times in milliseconds. */
export type AttemptOutcome =
  | { readonly kind: 'sent'; readonly answer: string }
  /** The recipient's server has refused the message permanently, or its address must not be connected to. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** It was not sent; `retryAfterMs` is how long the server asks to wait. */
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs?: number }
  /** It may have been sent. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** Records the outcome of an attempt. */
export type EndNotification = {
  readonly type: 'EndNotification';
  readonly messageId: string;
  readonly attempt: string;
  readonly outcome: AttemptOutcome;
  readonly nowMs: number;
  /** The time of the next attempt after a failure, unless it is after `giveUpAtMs`; both in milliseconds since 1970. */
  readonly nextAttemptAtMs: number;
  readonly giveUpAtMs: number;
};

/** Gives up a message that is not to be tried any more. */
export type GiveUpNotification = {
  readonly type: 'GiveUpNotification';
  readonly message: MessageKey;
  readonly reason: string;
  readonly nowMs: number;
};

/** Records that another message stands for one, which is not sent itself. */
export type DigestNotification = {
  readonly type: 'DigestNotification';
  readonly message: MessageKey;
  readonly digest: Pick<MessageKey, 'id' | 'execution'>;
  readonly nowMs: number;
};

export type ResendNotification = {
  readonly type: 'ResendNotification';
  readonly messageId: string;
  readonly principal: string;
  readonly nowMs: number;
};

export type NotificationCommand =
  | BeginNotification
  | EndNotification
  | GiveUpNotification
  | DigestNotification
  | ResendNotification;
