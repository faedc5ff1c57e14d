import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';

import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Configuration } from '../config/configuration.js';
import { OperatorError } from '../config/operator-errors.js';
import { openChannels } from '../main/reactors/notifications.js';
import type { ConfiguredChannel } from '../reactors/notify/attempt.js';
import type { MessageContent } from '../reactors/notify/message-content.js';
import { composeMessage, type Message } from '../reactors/notify/message/message.js';

/** The flags of `notifications test`. */
export type TestFlags = { readonly to?: string };

const NOTE = 'This is a test message, sent by `flightlog notifications test`.';

const EXECUTION = { project: 'test', domain: 'test', name: 'test' };

/**
 * The execution that the test message is about; it does not exist. It has succeeded, so that PagerDuty raises no alarm.
 */
const contentAt = (nowMs: number): MessageContent => ({
  execution: EXECUTION,
  eventId: '',
  revision: 0n,
  phase: Phase.SUCCEEDED,
  createdAtMs: nowMs,
  occurredAtMs: nowMs,
  recordedAtMs: nowMs,
  error: '',
  failingNode: '',
  workflow: create(IdentifierSchema, EXECUTION),
  launchPlan: create(IdentifierSchema, EXECUTION),
  labels: {},
  entries: [],
  isDisabled: false,
});

const messageTo = (channel: string, { templates }: ConfiguredChannel, recipient: string): Message => {
  const content = contentAt(Date.now());
  const { revision, phase } = content;
  const key = { id: randomUUID().replaceAll('-', ''), execution: EXECUTION, revision, phase, channel, recipient };
  const body = `${NOTE}\n\n${templates.body}`;
  return composeMessage({ ...templates, subject: `Test: ${templates.subject}`, body }, key, content, {
    isRepeat: false,
    digest: [],
  });
};

const assertRecipient = (name: string, { channel: { isMail } }: ConfiguredChannel, to: string | undefined): void => {
  if (isMail && to === undefined) throw new OperatorError(`${name} needs the address of a recipient: --to ADDRESS`);
  if (!isMail && to !== undefined) throw new OperatorError(`${name} is itself the recipient: it takes no --to`);
};

const unknownChannel = (name: string, known: readonly string[]): OperatorError =>
  new OperatorError(
    known.length === 0
      ? `there is no channel ${name}: the settings under notifications have none`
      : `there is no channel ${name}; there are: ${known.join(', ')}`,
  );

/**
 * Sends a test message on a channel of the configuration, once, and prints the answer of its server. Nothing is
 * recorded.
 *
 * @throws {OperatorError} when there is no such channel, `to` is missing or not taken, or the message was not sent,
 * with the reason.
 */
export const testChannel = async (
  { notifications }: Pick<Configuration, 'notifications'>,
  name: string,
  { to }: TestFlags,
): Promise<void> => {
  const channels = openChannels(notifications, 'test');
  const found = channels.get(name);
  if (!found) throw unknownChannel(name, [...channels.keys()]);
  assertRecipient(name, found, to);
  try {
    const message = messageTo(name, found, to ?? '');
    const outcome = await found.channel.send(message, AbortSignal.timeout(notifications.timeout));
    if (outcome.kind !== 'sent') throw new OperatorError(`${name}: ${outcome.kind}: ${outcome.reason}`);
    process.stdout.write(`${name}: sent: ${outcome.answer}\n`);
  } finally {
    for (const { channel } of channels.values()) channel.close();
  }
};
