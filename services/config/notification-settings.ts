import * as z from 'zod';
import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  count,
  distinctBy,
  duration,
  flag,
  httpAddress,
  id,
  oneOrMore,
  port,
  texts,
  timeLimit,
} from './setting-kinds.js';

/** The name of the channel for mail. */
export const MAIL_CHANNEL = 'mail';

const CHANNEL_TYPES = ['webhook', 'slack', 'pagerduty'] as const;
const SECURITY = ['starttls', 'tls', 'none'] as const;
const PHASES = ['RUNNING', 'SUCCEEDED', 'FAILED', 'ABORTING', 'ABORTED', 'TIMED_OUT'] as const;
const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

const secret = z.string().regex(/^(?:whsec_[A-Za-z0-9+/]+={0,2})?$/u, {
  error: 'must be whsec_ and the key in base64',
});

const channel = z
  .strictObject({
    name: id,
    type: z.enum(CHANNEL_TYPES, { error: `must be one of ${CHANNEL_TYPES.join(', ')}` }),
    url: httpAddress.optional(),
    secret: secret.default(''),
    routing_key: z.string().default(''),
    allow_private: flag.default(false),
    max_per_minute: oneOrMore.default(60),
  })
  .refine(({ type, url }) => type === 'pagerduty' || url !== undefined, {
    path: ['url'],
    error: 'is needed',
  })
  .refine(({ type, routing_key: key }) => type !== 'pagerduty' || key !== '', {
    path: ['routing_key'],
    error: 'is needed',
  })
  .transform(({ url = PAGERDUTY_URL, ...rest }) => ({ url, ...rest }));

/** In rules beside the phases: executions that run longer than `running_longer_than`. */
const LONG_RUNNING = 'LONG_RUNNING';

const phase = z.enum([...PHASES, LONG_RUNNING], { error: `must be among ${[...PHASES, LONG_RUNNING].join(', ')}` });

const rule = z
  .strictObject({
    projects: z.array(id).min(1).default(['*']),
    domains: z.array(id).min(1).default(['*']),
    phases: z.array(phase).min(1).prefault(['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT']),
    labels: texts.default({}),
    channel: id,
    recipients: z.array(z.string().min(1)).default([]),
  })
  .transform(({ phases, ...rest }) => ({
    ...rest,
    phases: phases.flatMap((name): readonly Phase[] => (name === LONG_RUNNING ? [] : [Phase[name]])),
    longRunning: phases.includes(LONG_RUNNING),
  }));

/** The rule that sends mail to a recipient about each execution that has ended. */
export const mailRule = (recipient: string): z.infer<typeof rule> =>
  rule.parse({ channel: MAIL_CHANNEL, recipients: [recipient] });

const smtp = z.strictObject({
  host: z.string().default('').describe('SMTP server that mail is sent through; without it no mail is sent'),
  port: port.default(587).describe('port of the SMTP server'),
  security: z
    .enum(SECURITY, { error: `must be one of ${SECURITY.join(', ')}` })
    .default('starttls')
    .describe('encryption: `starttls` (a server without it is refused), `tls` from the start, or `none`'),
  ca_file: z
    .string()
    .default('')
    .describe('file with the authorities to trust, in PEM; by default those that Node.js trusts'),
  username: z.string().default('').describe('username at the server; without it there is no authentication'),
  password: z.string().default('').describe('password at the server'),
  max_connections: oneOrMore.default(4).describe('connections to the server at a time'),
  max_per_minute: oneOrMore.default(600).describe('attempts to send in a minute, on average'),
});

const SUBJECT = 'Execution {{ name }} in {{ project }}/{{ domain }}: {{ phase }}';
const BODY =
  'Execution {{ name }} of {{ workflow.name }} ({{ workflow.version }}) in {{ project }}/{{ domain }} has {{ phase }} after {{ duration }}.{{ failing_node }}{{ error }}';

const shape = z.strictObject({
  smtp: smtp.prefault({}),
  outbox: z
    .string()
    .default('')
    .describe(
      'folder that mail is written to instead of being sent, to try things out; in the sandbox `outbox` in the data directory',
    ),
  sender: z.string().min(1).default('flightlog <flightlog@localhost>').describe('template of the sender of mail'),
  subject: z.string().min(1).default(SUBJECT).describe('template of subjects'),
  body: z.string().min(1).default(BODY).describe('template of messages as text'),
  html: z.string().default('').describe('template of mail as HTML; by default made from `body`'),
  link: z.string().default('').describe('template of the address of an execution in a console'),
  channels: z
    .array(channel)
    .default([])
    .describe(
      'webhooks, Slack and PagerDuty: `name`, `type` (`webhook`, `slack`, `pagerduty`), `url`, `secret`, `routing_key`, `allow_private`, `max_per_minute` (60)',
    ),
  slack_channel: z
    .string()
    .default(MAIL_CHANNEL)
    .describe('channel for the Slack notifications that executions ask for'),
  pager_duty_channel: z
    .string()
    .default(MAIL_CHANNEL)
    .describe('channel for the PagerDuty notifications that executions ask for'),
  rules: z
    .array(rule)
    .default([])
    .describe(
      'rules for messages about executions, also those that ask for none, each with `projects`, `domains`, `phases`, `labels`, `channel`, `recipients`',
    ),
  running_longer_than: duration
    .optional()
    .describe('duration of an execution after which rules with the phase `LONG_RUNNING` send a message'),
  digest: z
    .strictObject({
      after: count
        .default(10)
        .describe(
          'messages about failures of one launch plan that are sent singly to a recipient within `window`; further ones are joined in a digest; 0 switches digests off; webhooks get every message',
        ),
      window: duration.prefault('1m').describe('time for which messages are collected for a digest'),
    })
    .prefault({}),
  timeout: timeLimit.prefault('30s').describe('longest time that one attempt to send may take'),
  give_up_after: duration
    .prefault('1d')
    .describe(
      'time for which sending a message is retried, since it was due or asked for again; an older one is not sent',
    ),
});

type Settings = z.output<typeof shape>;

const hasMail = ({ smtp: { host }, outbox }: Settings): boolean => host !== '' || outbox !== '';

const isUnknown = (settings: Settings, name: string): boolean =>
  !settings.channels.some((each) => each.name === name) && (name !== MAIL_CHANNEL || !hasMail(settings));

/** The settings of notifications. */
export const notifications = shape.superRefine((settings, context) => {
  const wrong = (message: string, ...path: (string | number)[]): void =>
    context.addIssue({ code: 'custom', path, message });
  if (!distinctBy('name')([{ name: MAIL_CHANNEL }, ...settings.channels]))
    wrong(`must not have one name twice, and not ${MAIL_CHANNEL}`, 'channels');
  for (const key of ['slack_channel', 'pager_duty_channel'] as const)
    if (settings[key] !== MAIL_CHANNEL && isUnknown(settings, settings[key]))
      wrong('must be the name of a channel', key);
  settings.rules.forEach(({ channel: name, recipients, longRunning }, at) => {
    if (longRunning && settings.running_longer_than === undefined)
      wrong(`${LONG_RUNNING} needs notifications.running_longer_than`, 'rules', at, 'phases');
    if (isUnknown(settings, name)) wrong('must be the name of a channel', 'rules', at, 'channel');
    if ((name === MAIL_CHANNEL) !== recipients.length > 0)
      wrong('must be given for mail, and for nothing else', 'rules', at, 'recipients');
  });
});
