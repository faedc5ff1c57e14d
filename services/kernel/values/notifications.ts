import { invalid, missing } from '../rpc.js';

type Recipients = { readonly recipientsEmail: readonly string[] };

/** The shape of `admin.Notification`. */
export type RequestedNotification = {
  /** Numbers of `core.WorkflowExecution.Phase`. */
  readonly phases: readonly number[];
  readonly type:
    | { readonly case: 'email' | 'pagerDuty' | 'slack'; readonly value: Recipients }
    | { readonly case: undefined; readonly value?: undefined };
};

/** SUCCEEDED, FAILED, ABORTED and TIMED_OUT: notifications are sent only at the end of an execution. */
const TERMINAL = new Set([4, 6, 7, 8]);

const assertNotification = ({ phases, type }: RequestedNotification): void => {
  if (type.case === undefined) throw invalid('notification type', 'it is none of email, pager_duty, slack');
  if (type.value.recipientsEmail.length === 0) throw missing('recipients');
  if (type.value.recipientsEmail.includes('')) throw missing('recipient');
  if (!phases.every((phase) => TERMINAL.has(phase))) throw invalid('phase', 'notifications are sent at the end only');
};

/** The most recipients of all notifications together: by mail, each of them gets a message of its own. */
const MAX_RECIPIENTS = 1_000;

/**
 * Checks that every notification has a channel, recipients and only terminal phases, and that there are not too many
 * recipients in all.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the invalid field.
 */
export const assertNotifications = (notifications: readonly RequestedNotification[]): void => {
  notifications.forEach(assertNotification);
  const recipients = notifications.reduce((sum, { type }) => sum + (type.value?.recipientsEmail.length ?? 0), 0);
  if (recipients > MAX_RECIPIENTS) throw invalid('recipients', `${recipients} are more than ${MAX_RECIPIENTS}`);
};
