import {
  type NotificationDigested,
  NotificationDigestedSchema,
  type NotificationFailed,
  NotificationFailedSchema,
  type NotificationGivenUp,
  NotificationGivenUpSchema,
  type NotificationResendRequested,
  NotificationResendRequestedSchema,
  type NotificationSent,
  NotificationSentSchema,
  type NotificationStarted,
  NotificationStartedSchema,
} from '../../proto/gen/platformidl/eventlog/notification_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';
import type { ExecutionId } from '../kernel/execution-id.js';

/** The category of the streams, `notification-{project}:{domain}:{name}`: one for each execution with messages. */
export const NOTIFICATION_CATEGORY = 'notification';

export type NotificationEvent =
  | { readonly type: 'NotificationStarted'; readonly data: NotificationStarted }
  | { readonly type: 'NotificationSent'; readonly data: NotificationSent }
  | { readonly type: 'NotificationFailed'; readonly data: NotificationFailed }
  | { readonly type: 'NotificationGivenUp'; readonly data: NotificationGivenUp }
  | { readonly type: 'NotificationDigested'; readonly data: NotificationDigested }
  | { readonly type: 'NotificationResendRequested'; readonly data: NotificationResendRequested };

export const notificationStream = ({ project, domain, name }: ExecutionId): StreamName =>
  streamName(NOTIFICATION_CATEGORY, [project, domain, name]);

export const notificationCodec = messageCodec<NotificationEvent>({
  NotificationStarted: eventShape(NotificationStartedSchema),
  NotificationSent: eventShape(NotificationSentSchema),
  NotificationFailed: eventShape(NotificationFailedSchema),
  NotificationGivenUp: eventShape(NotificationGivenUpSchema),
  NotificationDigested: eventShape(NotificationDigestedSchema),
  NotificationResendRequested: eventShape(NotificationResendRequestedSchema),
});
