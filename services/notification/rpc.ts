import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type Notification,
  type NotificationList,
  NotificationListSchema,
  type NotificationResendRequest,
  NotificationResendResponseSchema,
  NotificationSchema,
  NotificationService,
  NotificationStatus,
} from '../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { contextOf } from '../kernel/command-context.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { type Call, missing, type Route, route, RpcError } from '../kernel/rpc.js';
import { notificationAggregate, type NotificationRefusal } from './decider.js';
import { notificationStream } from './events.js';
import type { MessageState, NotificationState, MessageStatus } from './state.js';
import type { ExecutionId } from '../kernel/execution-id.js';

export type NotificationServices = {
  readonly sessions: Sessions;
  /** True when the execution exists. */
  readonly executionExists: (id: ExecutionId) => Promise<boolean>;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
};

const STATUSES: Readonly<Record<MessageStatus['kind'], NotificationStatus>> = {
  sending: NotificationStatus.SENDING,
  waiting: NotificationStatus.WAITING,
  sent: NotificationStatus.SENT,
  'given-up': NotificationStatus.GIVEN_UP,
  digested: NotificationStatus.DIGESTED,
};

const shownMessage = ({ message, status, attempts, mayHaveArrived }: MessageState): Notification => {
  const { id, revision, phase, channel, recipient, runningLongerThan } = message;
  return create(NotificationSchema, {
    ...{ id, revision, phase, channel, recipient, attempts, mayHaveArrived },
    status: STATUSES[status.kind],
    since: timestampFromMs(status.sinceMs),
    answer: status.kind === 'sent' ? status.answer : '',
    reason: 'reason' in status ? status.reason : '',
    ...(runningLongerThan && { runningLongerThan }),
    ...(status.kind === 'digested' && { digestId: status.id, digestExecution: status.execution }),
    ...(status.kind === 'waiting' && { nextAttemptAt: timestampFromMs(status.nextAttemptAtMs) }),
  });
};

const shown = ({ messages }: NotificationState, position: bigint): NotificationList =>
  create(NotificationListSchema, { notifications: [...messages.values()].map(shownMessage), position });

const executionOf = (id: WorkflowExecutionIdentifier | undefined): ExecutionId => {
  if (!id) throw missing('id');
  for (const part of ['project', 'domain', 'name'] as const) if (id[part] === '') throw missing(`id.${part}`);
  return id;
};

const notFound = ({ project, domain, name }: ExecutionId): RpcError =>
  new RpcError('NOT_FOUND', `execution ${project}/${domain}/${name} does not exist`);

/** Lists the messages of an execution. Only when there are none is it checked that the execution exists. */
const list = async (
  { sessions, executionExists }: NotificationServices,
  id: ExecutionId,
  call: Call,
): Promise<NotificationList> => {
  const found = await sessions.read(notificationAggregate, notificationStream(id), ({ state, position }) =>
    shown(state, position),
  );
  if (found.notifications.length === 0 && !(await executionExists(id))) throw notFound(id);
  call.answeredAt(found.position);
  return found;
};

const resendRefused = ({ kind }: NotificationRefusal, messageId: string): RpcError =>
  kind === 'no-such-message'
    ? new RpcError('NOT_FOUND', `message ${messageId} does not exist; the list of the execution has its messages`)
    : new RpcError('FAILED_PRECONDITION', `message ${messageId} is being sent`);

const resend = async (
  { sessions, now }: NotificationServices,
  { id, messageId }: NotificationResendRequest,
  call: Call,
): Promise<void> => {
  const stream = notificationStream(executionOf(id));
  if (messageId === '') throw missing('message_id');
  const command = { type: 'ResendNotification', messageId, principal: call.principal, nowMs: now() } as const;
  const outcome = await sessions.handle(notificationAggregate, stream, command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw resendRefused(outcome.refusal, messageId);
};

export const notificationRoutes = (services: NotificationServices): readonly Route[] => [
  route(NotificationService.method.listNotifications, ({ id }, call) => list(services, executionOf(id), call)),
  route(NotificationService.method.resendNotification, async (request, call) => {
    await resend(services, request, call);
    return create(NotificationResendResponseSchema);
  }),
];
