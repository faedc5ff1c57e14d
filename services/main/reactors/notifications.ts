import type { Configuration } from '../../config/configuration.js';
import { MAIL_CHANNEL } from '../../config/notification-settings.js';
import { authoritiesIn } from '../../config/authorities-file.js';
import type { ProcessMetrics } from '../../metrics/process-metrics.js';
import type { ConfiguredChannel } from '../../reactors/notify/attempt.js';
import type { Channel } from '../../reactors/notify/channels/channel.js';
import { mailChannel } from '../../reactors/notify/channels/mail.js';
import { outboxChannel } from '../../reactors/notify/channels/outbox.js';
import { pagerDutyChannel } from '../../reactors/notify/channels/pagerduty.js';
import { slackChannel } from '../../reactors/notify/channels/slack.js';
import { webhookChannel, type WebhookTarget } from '../../reactors/notify/channels/webhook.js';
import type { Templates } from '../../reactors/notify/message/message.js';
import type { DigestLimits } from '../../reactors/notify/digests.js';
import { type LongRunningOptions, notifyLongRunning } from '../../reactors/notify/long-running.js';
import { notify } from '../../reactors/notify/reactor.js';
import type { NotifyOptions } from '../../reactors/notify/sending.js';
import type { MeasuredReactor } from '../../reactors/frame/when-due.js';

type Settings = Configuration['notifications'];
type ChannelSettings = Settings['channels'][number];

/** Concurrent attempts of a reactor on a channel other than mail; for mail it is the setting `smtp.max_connections`. */
const MAX_CONCURRENT = 4;

const templatesOf = ({ sender, subject, body, html, link }: Settings): Templates => ({
  sender,
  subject,
  body,
  html,
  link,
});

const mailOf = ({ smtp, outbox, timeout }: Settings): Channel | undefined => {
  if (outbox !== '') return outboxChannel(outbox);
  if (smtp.host === '') return undefined;
  const { ca_file: file, max_connections: maxConnections, host, port, security, username, password } = smtp;
  const authorities = file === '' ? undefined : authoritiesIn(file, 'notifications.smtp.ca_file');
  return mailChannel({
    host,
    port,
    security,
    username,
    password,
    authorities,
    maxConnections,
    timeoutMs: timeout,
  });
};

const channelOf = ({ type, url, secret, ...settings }: ChannelSettings, logId: string): Channel => {
  const target: WebhookTarget = { url, allowPrivate: settings.allow_private, now: Date.now };
  if (type === 'slack') return slackChannel(target);
  if (type === 'pagerduty') return pagerDutyChannel({ ...target, routingKey: settings.routing_key });
  return webhookChannel({ ...target, secret, logId });
};

const digestOf = ({ digest }: Settings): DigestLimits => ({ after: digest.after, windowMs: digest.window });

const mailIn = (settings: Settings): readonly (readonly [string, ConfiguredChannel])[] => {
  const channel = mailOf(settings);
  const { max_per_minute: maxPerMinute, max_connections: maxConcurrent } = settings.smtp;
  const templates = templatesOf(settings);
  return channel
    ? [[MAIL_CHANNEL, { channel, templates, limits: { maxPerMinute, maxConcurrent }, digest: digestOf(settings) }]]
    : [];
};

/**
 * Opens the configured channels, by name.
 *
 * @throws {OperatorError} when the file of certificate authorities for mail cannot be read, or has no certificate.
 */
export const openChannels = (settings: Settings, logId: string): ReadonlyMap<string, ConfiguredChannel> => {
  const templates = templatesOf(settings);
  const others = settings.channels.map((each): [string, ConfiguredChannel] => {
    const limits = { maxPerMinute: each.max_per_minute, maxConcurrent: MAX_CONCURRENT };
    const digest = each.type === 'webhook' ? {} : { digest: digestOf(settings) };
    return [each.name, { channel: channelOf(each, logId), templates, limits, ...digest }];
  });
  return new Map([...mailIn(settings), ...others]);
};

/**
 * The channels for the notifications that executions request, and the rules. A requested notification whose channel is
 * not configured is not sent.
 */
const routingOf = (
  { slack_channel: slack, pager_duty_channel: pagerDuty, rules }: Settings,
  channels: ReadonlyMap<string, unknown>,
): NotifyOptions['routing'] => {
  const known = (name: string): string | undefined => (channels.has(name) ? name : undefined);
  return { entries: { email: known(MAIL_CHANNEL), slack: known(slack), pagerDuty: known(pagerDuty) }, rules };
};

/** True when a channel is configured by which messages can be sent. */
export const hasChannels = ({ channels, smtp, outbox }: Settings): boolean =>
  channels.length > 0 || smtp.host !== '' || outbox !== '';

/** Time from one attempt to the next after a failure, in milliseconds. */
const RETRY = { firstMs: 5_000, maxMs: 15 * 60_000 } as const;

type NotifyParts = Pick<NotifyOptions, 'checkpoint' | 'timers' | 'givingUp' | 'onFailure' | 'sessions' | 'payloads'> & {
  readonly log: NotifyOptions['log'] & { readonly logId: string };
  readonly metrics: Pick<ProcessMetrics, 'channelOpened' | 'notified'>;
};

const notifyOptions = (settings: Settings, { metrics, ...parts }: NotifyParts): NotifyOptions => {
  const channels = openChannels(settings, parts.log.logId);
  for (const name of channels.keys()) metrics.channelOpened(name);
  return {
    ...parts,
    channels,
    routing: routingOf(settings, channels),
    timeoutMs: settings.timeout,
    retry: { ...RETRY, giveUpAfterMs: settings.give_up_after },
    onOutcome: metrics.notified,
  };
};

/** Starts the reactor that sends messages. */
export const startNotify = (settings: Settings, parts: NotifyParts): MeasuredReactor =>
  notify(notifyOptions(settings, parts));

/** Starts the reactor that sends messages about executions that have been running for a long time. */
export const startNotifyLongRunning = (
  settings: Settings,
  parts: NotifyParts,
  more: Pick<LongRunningOptions, 'afterMs' | 'isRunning'>,
): MeasuredReactor => notifyLongRunning({ ...notifyOptions(settings, parts), ...more });
