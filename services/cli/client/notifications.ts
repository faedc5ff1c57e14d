import {
  NotificationListSchema,
  NotificationService,
} from '../../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { connected } from './connection/connect.js';
import type { ScopeFlags } from './connection/flags.js';
import { executionIdOf } from './executions/execution-id.js';
import { jsonOfMessage, print } from './output/documents.js';
import { cell, coloured, type Colour, colourOf, oneLine } from './output/text.js';

/** The flags of `notifications`. */
export type NotificationsFlags = ScopeFlags & { readonly json: boolean };

type ShownNotification = {
  readonly id: string;
  readonly phase: string;
  readonly channel: string;
  readonly recipient: string;
  readonly attempts: number;
  readonly status: string;
  readonly since: string;
  readonly answer: string;
  readonly reason: string;
  readonly nextAttemptAt?: string;
  readonly digestId?: string;
  readonly digestExecution?: { readonly name: string };
};

const BY_STATUS: Readonly<Record<string, Colour>> = {
  SENT: 'green',
  WAITING: 'yellow',
  GIVEN_UP: 'red',
  DIGESTED: 'green',
};

const outcomeOf = ({ answer, reason, nextAttemptAt, digestId = '', digestExecution }: ShownNotification): string => {
  if (digestExecution) return `in message ${digestId} of ${digestExecution.name}`;
  return oneLine(`${answer}${reason}${nextAttemptAt === undefined ? '' : ` next attempt ${nextAttemptAt}`}`);
};

const lineOf = (each: ShownNotification): string =>
  [
    cell(each.id, 32),
    coloured(each.since, 'grey'),
    cell(each.phase, 9, colourOf(each.phase)),
    cell(each.channel, 10),
    cell(each.recipient || '-', 26),
    cell(String(each.attempts), 3),
    cell(each.status, 8, BY_STATUS[each.status]),
    outcomeOf(each),
  ]
    .join('  ')
    .trimEnd();

/**
 * Prints the messages about an execution, one line each.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const listNotifications = (name: string, flags: NotificationsFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const id = executionIdOf(name, flags);
    const page = await connection.call(NotificationService.method.listNotifications, { id });
    const { notifications } = jsonOfMessage(NotificationListSchema, page) as unknown as {
      readonly notifications: readonly ShownNotification[];
    };
    for (const each of notifications) print(flags.json ? JSON.stringify(each) : lineOf(each));
  });

/**
 * Asks for a message to be sent again.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const resendNotification = (name: string, messageId: string, flags: ScopeFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const id = executionIdOf(name, flags);
    await connection.call(NotificationService.method.resendNotification, { id, messageId });
    print(`${messageId} will be sent again`);
  });
