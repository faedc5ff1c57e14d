import { cell, coloured, type Colour, colourOf, oneLine } from './lines.js';
import { executionPathOf, get, post, type ServerFlags } from './server-client.js';

/** The flags of `notifications`. */
export type NotificationsFlags = ServerFlags & { readonly json: boolean };

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
  readonly nextAttemptAt: string | null;
};

const BY_STATUS: Readonly<Record<string, Colour>> = { SENT: 'green', WAITING: 'yellow', GIVEN_UP: 'red' };

const outcomeOf = ({ answer, reason, nextAttemptAt }: ShownNotification): string =>
  oneLine(`${answer}${reason}${nextAttemptAt === null ? '' : ` next attempt ${nextAttemptAt}`}`);

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
export const listNotifications = async (name: string, flags: NotificationsFlags): Promise<void> => {
  const response = await get(flags, `/api/v1/notifications/${executionPathOf(name, flags)}`);
  const { notifications } = (await response.json()) as { readonly notifications: readonly ShownNotification[] };
  for (const each of notifications) process.stdout.write(`${flags.json ? JSON.stringify(each) : lineOf(each)}\n`);
};

/**
 * Asks for a message to be sent again.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const resendNotification = async (name: string, message: string, flags: ServerFlags): Promise<void> => {
  await post(flags, `/api/v1/notifications/${executionPathOf(name, flags)}/${encodeURIComponent(message)}/resend`);
  process.stdout.write(`${message} will be sent again\n`);
};
