import {
  NotificationListSchema,
  NotificationService,
} from '../../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { connected } from './connection/connect.js';
import type { ScopeFlags } from './connection/flags.js';
import { executionIdOf } from './executions/execution-id.js';
import { jsonOfMessage, print } from './output/documents.js';
import { type Columns, printHeader } from './output/header.js';
import { cell, type Colour, colourOf, oneLine, timeCell } from './output/text.js';

/** The flags of `notifications list`. */
export type NotificationsFlags = ScopeFlags & { readonly json: boolean };

type ShownNotification = {
  readonly id: string;
  readonly phase: string;
  readonly channel: string;
  readonly recipient: string;
  readonly attempts: number;
  readonly status: string;
  /** The time since which the status holds. */
  readonly since: string;
  /** The answer of the receiving server; empty unless the message was sent. */
  readonly answer: string;
  /** The reason of the last failure while the message waits, or of giving it up. */
  readonly reason: string;
  readonly nextAttemptAt?: string;
  /**
   * The message that was sent in place of this one: a digest, which sums up the messages about several executions and
   * is itself listed with one of them.
   */
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

const COLUMNS: Columns = [
  ['ID', 32],
  ['SINCE', 24],
  ['PHASE', 9],
  ['CHANNEL', 10],
  ['RECIPIENT', 26],
  ['TRY', 3],
  ['STATUS', 8],
  ['ANSWER OR REASON', 0],
];

/** The line of a message: cells where the header has its columns. */
export const lineOf = (each: ShownNotification): string =>
  [
    cell(each.id, 32),
    timeCell(each.since),
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
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listNotifications = (name: string, flags: NotificationsFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const id = executionIdOf(name, flags);
    const page = await connection.call(NotificationService.method.listNotifications, { id });
    const { notifications } = jsonOfMessage(NotificationListSchema, page) as unknown as {
      readonly notifications: readonly ShownNotification[];
    };
    if (!flags.json) printHeader(COLUMNS);
    for (const each of notifications) print(flags.json ? JSON.stringify(each) : lineOf(each));
  });

/**
 * Requests that a message is sent again. The server records the request; the process that sends messages fulfils it
 * later.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const resendNotification = (name: string, messageId: string, flags: ScopeFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const id = executionIdOf(name, flags);
    await connection.call(NotificationService.method.resendNotification, { id, messageId });
    print(`${messageId} will be sent again`);
  });
