import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NotificationSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import { WORKFLOW } from '../../../services/execution/phases.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { Sessions } from '../../../services/kernel/ports/sessions.js';
import type { BeginNotification } from '../../../services/notification/commands.js';
import { notificationAggregate } from '../../../services/notification/decider.js';
import {
  notificationCodec,
  type NotificationEvent,
  notificationStream,
} from '../../../services/notification/events.js';
import type { Channel } from '../../../services/reactors/notify/channels/channel.js';
import { mailChannel } from '../../../services/reactors/notify/channels/mail.js';
import { webhookChannel } from '../../../services/reactors/notify/channels/webhook.js';
import { notifyLongRunning } from '../../../services/reactors/notify/long-running.js';
import { notify } from '../../../services/reactors/notify/reactor.js';
import type { NotifyOptions } from '../../../services/reactors/notify/sending.js';
import type { MeasuredReactor } from '../../../services/reactors/frame/when-due.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { fileCheckpoint } from '../../../services/store/file-checkpoint.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { manualTimers } from '../../support/manual-timers.js';
import { smtpSink, type SmtpSink } from '../../support/servers/smtp-sink.js';
import { until } from '../../support/until.js';
import { webhookSink, type WebhookSink } from '../../support/servers/webhook-sink.js';
import { creation, id, node, stream, workflow } from '../execution/reports.js';
import { templates } from './sample-message.js';
import { uuidText } from '../../../services/kernel/encoding/id-text.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

const START_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const FIRST_RETRY_MS = 5_000;
const TIMEOUT_MS = 10_000;
/** The first two messages about failures of a launch plan within a minute are sent singly, later ones as a digest. */
const DIGEST = { after: 2, windowMs: 60_000 };
/** The W3C trace context with which each command is sent. */
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let directory: string;
let store: EventStore;
let payloads: PayloadStore;
let sessions: Sessions;
let timers: ReturnType<typeof manualTimers>;
let reactor: MeasuredReactor | undefined;
let smtp: SmtpSink;
let hooks: WebhookSink;

const notifications = notificationStream(id);

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-notify-'));
  store = await sqliteEventStore({ directory });
  payloads = filePayloadStore({ directory });
  timers = manualTimers(START_MS);
  sessions = openSessions({ store, payloads, now: () => timers.now() });
  smtp = await smtpSink();
  hooks = await webhookSink();
});
afterEach(async () => {
  await reactor?.close();
  await store.close();
  await smtp.die();
  await hooks.close();
  rmSync(directory, { recursive: true });
});

const mail = (): Channel =>
  mailChannel({
    host: '127.0.0.1',
    port: smtp.port,
    security: 'none',
    authorities: undefined,
    username: '',
    password: '',
    maxConnections: 2,
    timeoutMs: TIMEOUT_MS,
  });
const hook = (path: string): Channel =>
  webhookChannel({ url: `${hooks.url}${path}`, allowPrivate: true, secret: '', logId: 'log', now: () => timers.now() });
/** A rule for executions of all projects that come into one of the phases. */
const rule = (channel: string, phases = [Phase.FAILED]) => ({
  projects: ['*'],
  domains: ['*'],
  phases,
  longRunning: false,
  labels: {},
  channel,
  recipients: [],
});

/** Options with a channel `mail` for all entries, and for each path of the webhook server a channel and a rule. */
const optionsOf = (paths: readonly string[], more: Partial<NotifyOptions>): NotifyOptions => {
  const limits = { maxPerMinute: 6_000, maxConcurrent: 4 };
  const channels = [['mail', mail()] as const, ...paths.map((path) => [path, hook(path)] as const)];
  return {
    log: store,
    payloads,
    sessions,
    checkpoint: fileCheckpoint({ directory, name: 'notify', logId: store.logId }),
    timers,
    timeoutMs: TIMEOUT_MS,
    retry: { firstMs: FIRST_RETRY_MS, maxMs: 60_000, giveUpAfterMs: DAY_MS },
    random: () => 0,
    channels: new Map(channels.map(([name, channel]) => [name, { channel, limits, templates, digest: DIGEST }])),
    routing: {
      entries: { email: 'mail', slack: 'mail', pagerDuty: 'mail' },
      rules: paths.map((path) => rule(path)),
    },
    onFailure: () => undefined,
    onOutcome: () => undefined,
    ...more,
  };
};
/** Starts the reactor with a webhook channel and a rule for each path. */
const start = (paths: readonly string[] = [], more: Partial<NotifyOptions> = {}): void => {
  reactor = notify(optionsOf(paths, more));
};

/** Sends a command to an execution. */
const runCommand = async (command: ExecutionCommand, target = stream): Promise<void> => {
  const context = { actor: 'tester', commandId: randomBytes(8).toString('hex'), traceParent: TRACE };
  await sessions.handle(executionAggregate({ payloads }), target, command, context);
};

/**
 * Records a second execution that fails, with an e-mail entry for bob. Its mail shows that the reactor has read all
 * events recorded before.
 */
const failOther = async (): Promise<void> => {
  const other = { ...id, name: 'other' };
  const entry = create(NotificationSchema, {
    phases: [Phase.FAILED],
    type: { case: 'email', value: { recipientsEmail: ['bob@example.com'] } },
  });
  const created = create(ExecutionCreatedSchema, { id: other, spec: {}, notifications: [entry] });
  await runCommand({ ...creation, id: other, created }, executionStream(other));
  await runCommand(workflow('FAILED', { executionId: other }), executionStream(other));
};

/** Records an execution that fails at node n1, with an e-mail entry for these addresses; without any, no entry. */
const failFor = async (...recipientsEmail: readonly string[]): Promise<void> => {
  const entry = create(NotificationSchema, {
    phases: [Phase.FAILED],
    type: { case: 'email', value: { recipientsEmail: [...recipientsEmail] } },
  });
  const notified = recipientsEmail.length > 0 ? [entry] : [];
  await runCommand({ ...creation, created: create(ExecutionCreatedSchema, { id, spec: {}, notifications: notified }) });
  await runCommand(workflow('RUNNING'));
  await runCommand(node('RUNNING', { node: 'n1' }));
  await runCommand(node('FAILED', { node: 'n1' }));
  await runCommand(
    workflow('FAILED', { outputResult: { case: 'error', value: { code: 'E', message: 'no such file' } } } as never),
  );
};

const EVENT_SCHEMA = 1;
/** The events of a stream of notifications, in order. */
const recorded = async (notificationsOf = notifications): Promise<readonly NotificationEvent[]> => {
  const events: NotificationEvent[] = [];
  for await (const page of store.readStream(notificationsOf))
    for (const { type, data } of page) events.push(notificationCodec.decode(type, data, EVENT_SCHEMA));
  return events;
};
/** The types of the recorded events without `Notification`, with which each begins, in order. */
const types = async (): Promise<readonly string[]> =>
  (await recorded()).map(({ type }) => type.replace('Notification', ''));
/** Waits until exactly these events are recorded, in this order, given without `Notification`. */
const untilTypes = (...wanted: readonly string[]): Promise<unknown> =>
  until(types, (found) => found.join() === wanted.join());
/** Waits until `count` events are recorded; with a type, only events of that type count. */
const untilRecorded = (count: number, wanted?: string): Promise<unknown> =>
  until(types, (found) => found.filter((type) => type === (wanted ?? type)).length === count);
/** Waits until `count` messages are pending: due later, or not yet sent. */
const untilWaiting = (count: number): Promise<unknown> =>
  until(
    () => Promise.resolve(reactor?.figures().waiting),
    (waiting) => waiting === count,
  );
const untilMails = (count: number): Promise<unknown> =>
  until(
    () => Promise.resolve(smtp.mails.length),
    (mails) => mails === count,
  );

/** The request of an operator to send the first message again. */
const resend = async (): Promise<void> => {
  const messageId = await sessions.read(
    notificationAggregate,
    notifications,
    ({ state }) => [...state.messages.keys()][0] ?? '',
  );
  const asked = { type: 'ResendNotification', messageId, principal: 'ann', nowMs: timers.now() } as const;
  await sessions.handle(notificationAggregate, notifications, asked, { actor: 'ann', commandId: `again ${messageId}` });
};

describe('the messages about an execution', () => {
  it('are sent to each recipient, and recorded with the answer of the server', async () => {
    start();
    await failFor('ann@example.com', 'bob@example.com');
    await untilRecorded(4);
    expect((await types()).toSorted()).toEqual(['Sent', 'Sent', 'Started', 'Started']);
    expect(smtp.mails.map(({ to }) => to).toSorted()).toEqual(['ann@example.com', 'bob@example.com']);
    expect(smtp.mails[0]?.content.replaceAll('=\r\n', '')).toMatch(
      /The node that failed is n1\. The execution failed with error: \[no such/u,
    );
  });

  it('are sent also when an attempt to create the execution was voided before', async () => {
    start();
    await runCommand({ type: 'VoidExecution', id, attempt: 'lost' });
    await failFor('ann@example.com');
    await untilTypes('Started', 'Sent');
    expect(smtp.mails.map(({ to }) => to)).toEqual(['ann@example.com']);
  });

  it('are recorded with the event that caused them, and with its trace', async () => {
    start();
    await failFor('ann@example.com');
    await untilTypes('Started', 'Sent');
    const causes: string[] = [];
    for await (const page of store.readStream(stream)) causes.push(...page.map(({ id: eventId }) => uuidText(eventId)));
    for await (const page of store.readStream(notifications))
      for (const { metadata } of page)
        expect(JSON.parse(metadata)).toMatchObject({ traceparent: TRACE, $causationId: causes.at(-1) });
  });

  it('are sent once, also by a process that reads the log from its beginning', async () => {
    start();
    await failFor('ann@example.com');
    await untilTypes('Started', 'Sent');
    await reactor?.close();
    rmSync(join(directory, 'notify.json'), { force: true });
    start([], { checkpoint: { read: () => Promise.resolve(0n), write: () => Promise.resolve() } });
    await failOther();
    await until(
      () => Promise.resolve(smtp.mails),
      (mails) => mails.some(({ to }) => to === 'bob@example.com'),
    );
    await untilWaiting(0);
    expect(smtp.mails.map(({ to }) => to)).toEqual(['ann@example.com', 'bob@example.com']);
  });

  it('are caused by a rule for labels that the execution has from the configuration recorded with it', async () => {
    const labels = { team: 'sales' };
    start(['/hook'], {
      routing: {
        entries: { email: 'mail', slack: 'mail', pagerDuty: 'mail' },
        rules: [{ ...rule('/hook'), labels }],
      },
    });
    const created = create(ExecutionCreatedSchema, { id, spec: {}, config: { labels: { values: labels } } });
    await runCommand({ ...creation, created });
    await runCommand(workflow('RUNNING'));
    await runCommand(workflow('FAILED'));
    await untilTypes('Started', 'Sent');
    expect(JSON.parse(hooks.posts[0]?.body ?? '')).toMatchObject({ data: { labels } });
  });

  it('are not sent when neither an entry nor a rule asks for them', async () => {
    start();
    await failFor();
    await failOther();
    await untilMails(1);
    await untilWaiting(0);
    expect(smtp.mails.map(({ to }) => to)).toEqual(['bob@example.com']);
    expect(await types()).toEqual([]);
  });

  it('are given up when the event is older than the time after which messages are given up', async () => {
    await failFor('ann@example.com');
    timers.advance(DAY_MS + 1);
    start();
    await untilTypes('GivenUp');
    expect(smtp.mails).toEqual([]);
  });

  it('that the server refuses permanently are given up', async () => {
    start(['/moved', '/gone']);
    await failFor('unknown@example.com');
    await untilRecorded(3, 'GivenUp');
    const reasons = (await recorded()).flatMap(({ type, data }) =>
      type === 'NotificationGivenUp' ? [data.reason] : [],
    );
    expect(reasons.toSorted()).toEqual([
      '302 (redirects are not followed)',
      '410 no such hook',
      '550 5.1.1 no such user',
    ]);
  });

  it('that fail are tried again, later each time, and do not hold up others', async () => {
    start(['/broken', '/hook']);
    await failFor('deferred@example.com');
    await untilRecorded(6); // of three messages the start and the outcome: two Failed, one Sent
    expect(hooks.posts.map(({ path }) => path).toSorted()).toEqual(['/broken', '/hook']);
    await untilWaiting(1);
    timers.advance(FIRST_RETRY_MS);
    await untilRecorded(4, 'Failed');
    expect(hooks.posts.map(({ path }) => path).toSorted()).toEqual(['/broken', '/broken', '/hook']);
    const nextMs = (await recorded()).flatMap(({ type, data }) =>
      type === 'NotificationFailed' ? [timestampMs(data.nextAttemptAt!)] : [],
    );
    // The first two failures were recorded at the start, the other two at the first retry.
    const delays = nextMs.map((ms, index) => ms - (index < 2 ? START_MS : START_MS + FIRST_RETRY_MS));
    expect(delays.map((ms) => ms / delays[0]!)).toEqual([1, 1, 2, 2]);
  });

  it('that are sent count once towards the limit of their channel, also when other messages are tried again', async () => {
    const limits = { maxPerMinute: 20, maxConcurrent: 4 }; // a burst of two messages
    const { channels } = optionsOf(['/broken'], {});
    start(['/broken'], { channels: new Map(channels).set('mail', { ...channels.get('mail')!, limits }) });
    await failFor('ann@example.com', 'bob@example.com');
    await untilRecorded(2, 'Sent');
    await untilWaiting(1);
    timers.advance(FIRST_RETRY_MS);
    await untilRecorded(2, 'Failed');
    await resend();
    await untilRecorded(3, 'Sent');
  });

  it('that the limit of their channel holds up are sent in the order of their events', async () => {
    const limits = { maxPerMinute: 60, maxConcurrent: 20 }; // a burst of six messages
    const { channels } = optionsOf([], {});
    const limited = new Map(channels).set('mail', {
      ...channels.get('mail')!,
      limits,
      digest: { after: 0, windowMs: 0 },
    });
    const phases = [Phase.FAILED];
    const names = Array.from({ length: 20 }, (_, index) => `run-${index}`);
    start([], { channels: limited });
    for (const name of names) {
      const execution = { ...id, name };
      const type = { case: 'email' as const, value: { recipientsEmail: [`${name}@example.com`] } };
      const entry = create(NotificationSchema, { phases, type });
      const created = create(ExecutionCreatedSchema, { id: execution, spec: {}, notifications: [entry] });
      await runCommand({ ...creation, id: execution, created }, executionStream(execution));
      await runCommand(workflow('FAILED', { executionId: execution }), executionStream(execution));
    }
    for (let sent = 6; sent <= names.length; sent += 1) {
      await untilMails(sent);
      await untilWaiting(names.length - sent);
      timers.advance(1_000);
    }
    expect(smtp.mails.slice(6).map(({ to }) => to)).toEqual(names.slice(6).map((name) => `${name}@example.com`));
  });

  it('are tried again as long after a failure as the server asks', async () => {
    start(['/busy']);
    await failFor();
    await untilTypes('Started', 'Failed');
    const failed = (await recorded()).at(-1);
    const retryAfterSeconds = 120; // the header `Retry-After` of `/busy`
    expect(failed?.data).toMatchObject({ nextAttemptAt: { seconds: BigInt(START_MS / 1_000 + retryAfterSeconds) } });
  });

  it('that may have been sent are sent once more, which they say, and then given up', async () => {
    start();
    await failFor('dropped@example.com');
    await untilTypes('Started', 'Failed');
    await untilWaiting(1);
    timers.advance(FIRST_RETRY_MS);
    await untilTypes('Started', 'Failed', 'Started', 'GivenUp');
    expect(smtp.mails).toHaveLength(2);
    expect(smtp.mails.map(({ content }) => content.includes('sent once more'))).toEqual([false, true]);
    const ids = smtp.mails.map(({ content }) => /^Message-ID: (.*)$/mu.exec(content)?.[1]);
    expect(ids[0]).toBe(ids[1]);
  });

  it('whose server has died are sent when it is back', async () => {
    const { port } = smtp;
    await smtp.die();
    start();
    await failFor('ann@example.com');
    await untilTypes('Started', 'Failed');
    smtp = await smtpSink({ port });
    await untilWaiting(1);
    timers.advance(FIRST_RETRY_MS);
    await untilTypes('Started', 'Failed', 'Started', 'Sent');
    expect(smtp.mails[0]?.content).not.toContain('sent once more');
  });

  it('whose attempt ended with its process are sent once more, after twice the timeout', async () => {
    const handle = ((...given: Parameters<Sessions['handle']>) =>
      (given[2] as { type: string }).type === 'EndNotification'
        ? Promise.reject(new Error('the process ends'))
        : sessions.handle(...given)) as Sessions['handle'];
    start([], { sessions: { handle, read: sessions.read.bind(sessions) } });
    await failFor('ann@example.com');
    await untilMails(1);
    await reactor?.close();
    start();
    await untilWaiting(1);
    timers.advance(2 * TIMEOUT_MS - 1);
    expect(await types()).toEqual(['Started']);
    timers.advance(1);
    await untilTypes('Started', 'Started', 'Sent');
    expect(smtp.mails.map(({ content }) => content.includes('sent once more'))).toEqual([false, true]);
  });

  it('whose attempts ended twice with their process are given up, and counted as that', async () => {
    const handle = ((...given: Parameters<Sessions['handle']>) =>
      (given[2] as { type: string }).type === 'EndNotification'
        ? Promise.reject(new Error('the process ends'))
        : sessions.handle(...given)) as Sessions['handle'];
    const ending = { sessions: { handle, read: sessions.read.bind(sessions) } };
    const outcomes: string[] = [];
    start([], ending);
    await failFor('ann@example.com');
    await untilMails(1);
    await reactor?.close();
    start([], ending);
    await untilWaiting(1);
    timers.advance(2 * TIMEOUT_MS);
    await untilMails(2);
    await reactor?.close();
    start([], { onOutcome: (_, outcome) => void outcomes.push(outcome) });
    await untilWaiting(1);
    timers.advance(2 * TIMEOUT_MS);
    await untilTypes('Started', 'Started', 'GivenUp');
    await untilWaiting(0);
    expect(outcomes).toEqual(['given-up']);
  });

  it('are sent again where an operator asks', async () => {
    start();
    await failFor('ann@example.com');
    await untilTypes('Started', 'Sent');
    await resend();
    await untilTypes('Started', 'Sent', 'ResendRequested', 'Started', 'Sent');
    expect(smtp.mails.map(({ content }) => content.includes('sent once more'))).toEqual([false, true]);
  });

  it('are sent again on request, also when the log is read from its beginning long after the event', async () => {
    await failFor('ann@example.com');
    timers.advance(DAY_MS + 1);
    start();
    await untilTypes('GivenUp');
    await reactor?.close();
    await resend();
    start([], { checkpoint: fileCheckpoint({ directory, name: 'other', logId: store.logId }) });
    await untilTypes('GivenUp', 'ResendRequested', 'Started', 'Sent');
  });

  it('are given up when their channel was removed while they waited', async () => {
    start(['/broken']);
    await failFor();
    await untilTypes('Started', 'Failed');
    await reactor?.close();
    start();
    await untilTypes('Started', 'Failed', 'GivenUp');
    expect((await recorded()).at(-1)?.data).toMatchObject({ reason: 'there is no channel /broken' });
  });

  it('are tried again also after their rule was removed', async () => {
    start(['/broken']);
    await failFor();
    await untilTypes('Started', 'Failed');
    await reactor?.close();
    start(['/broken'], { routing: { entries: { email: 'mail', slack: 'mail', pagerDuty: 'mail' }, rules: [] } });
    await untilWaiting(1);
    timers.advance(FIRST_RETRY_MS);
    await untilTypes('Started', 'Failed', 'Started', 'Failed');
    expect(hooks.posts).toHaveLength(2);
  });

  it('are tried again also after the only rule about their phase was removed', async () => {
    const entries = { email: 'mail', slack: 'mail', pagerDuty: 'mail' };
    start(['/broken'], { routing: { entries, rules: [rule('/broken', [Phase.RUNNING])] } });
    await failFor();
    await untilTypes('Started', 'Failed');
    await reactor?.close();
    start(['/broken'], { routing: { entries, rules: [] } });
    await untilWaiting(1);
    timers.advance(FIRST_RETRY_MS);
    await untilTypes('Started', 'Failed', 'Started', 'Failed');
  });

  it('are sent once by two processes', async () => {
    const other = openSessions({ store, payloads, now: () => timers.now() });
    start();
    const first = reactor;
    start([], { sessions: other, checkpoint: fileCheckpoint({ directory, name: 'other', logId: store.logId }) });
    await failFor('ann@example.com', 'bob@example.com');
    await untilRecorded(4);
    await first?.close();
    expect(smtp.mails).toHaveLength(2);
  });
});

describe('many messages about one launch plan', () => {
  const names = ['e1', 'e2', 'e3', 'e4', 'e5'];
  const executions = names.map((name) => ({ ...id, name }));
  const streamsOf = () => Promise.all(executions.map((each) => recorded(notificationStream(each))));
  const count = async (type: NotificationEvent['type']): Promise<number> =>
    (await streamsOf()).flat().filter((event) => event.type === type).length;

  /** Records executions e1 to e5, each of which fails and has an e-mail entry for ann. */
  const failMany = async (): Promise<void> => {
    const notifications = [
      create(NotificationSchema, {
        phases: [Phase.FAILED],
        type: { case: 'email', value: { recipientsEmail: ['ann@example.com'] } },
      }),
    ];
    for (const each of executions) {
      const target = executionStream(each);
      const created = create(ExecutionCreatedSchema, { id: each, spec: {}, notifications });
      await runCommand({ ...creation, id: each, created }, target);
      await runCommand(workflow('RUNNING', { executionId: each }), target);
      await runCommand(workflow('FAILED', { executionId: each }), target);
    }
  };

  it('are one digest after the first two, and each has its outcome', async () => {
    const outcomes: string[] = [];
    const onOutcome = (_: string, outcome: string): void => void outcomes.push(outcome);
    await failMany();
    start([], { onOutcome }); // reads all of them at once, so that three wait only when two are sent
    await untilWaiting(3);
    expect(smtp.mails).toHaveLength(2);
    timers.advance(DIGEST.windowMs);
    await untilMails(3);
    await until(
      () => count('NotificationDigested'),
      (digested) => digested === 2,
    );
    timers.advance(DIGEST.windowMs);
    await untilWaiting(0);
    expect(smtp.mails).toHaveLength(3);
    expect(await count('NotificationSent')).toBe(3);
    expect(outcomes.toSorted()).toEqual(['digested', 'digested', 'sent', 'sent', 'sent']);
    const [lead] = (await streamsOf())
      .flat()
      .flatMap((event) => (event.type === 'NotificationStarted' && event.data.digest.length > 0 ? [event.data] : []));
    const { content } = smtp.mails[2]!;
    expect(content).toContain('(and 2 more)');
    for (const { execution } of lead!.digest) expect(content.replaceAll('=\r\n', '')).toContain(execution!.name);
  });

  it('have each an outcome when the process ended before it had recorded all messages of the digest', async () => {
    let digestCommands = 0;
    const outcomes: string[] = [];
    const onOutcome = (_: string, outcome: string): void => void outcomes.push(outcome);
    const handle = ((...given: Parameters<Sessions['handle']>) => {
      const isDigested = (given[2] as { type: string }).type === 'DigestNotification';
      if (isDigested) digestCommands += 1;
      return isDigested && digestCommands > 1 ? new Promise(() => undefined) : sessions.handle(...given);
    }) as Sessions['handle'];
    await failMany();
    start([], { sessions: { handle, read: sessions.read.bind(sessions) }, onOutcome });
    await untilWaiting(3);
    timers.advance(DIGEST.windowMs);
    await until(
      () => count('NotificationDigested'),
      (digested) => digested === 1,
    );
    start([], { onOutcome }); // the first process stays where it is: its second command never ends
    await untilMails(3); // the message that was not recorded goes out by itself, as the first of the new process
    await untilWaiting(1); // the digest that was begun; its timer is set only now
    timers.advance(2 * TIMEOUT_MS);
    await untilMails(4);
    await untilWaiting(0);
    expect(await count('NotificationSent')).toBe(4);
    expect(await count('NotificationDigested')).toBe(1);
    expect(outcomes.filter((outcome) => outcome === 'digested')).toHaveLength(1);
    expect(smtp.mails.at(-1)?.content).toContain('(and 2 more)');
    expect(smtp.mails.at(-1)?.content).toContain('sent once more');
  });

  it('are sent, too, when another process has given up the message that was to be their digest', async () => {
    const handle = (async (...given: Parameters<Sessions['handle']>) => {
      const [aggregate, of, begin] = given as unknown as [
        typeof notificationAggregate,
        typeof stream,
        BeginNotification,
      ];
      const other = {
        type: 'GiveUpNotification',
        message: begin.message,
        reason: 'too old',
        nowMs: timers.now(),
      } as const;
      if (begin.digest?.length === 2)
        await sessions.handle(aggregate, of, other, { actor: 'another', commandId: 'another' });
      return sessions.handle(...given);
    }) as Sessions['handle'];
    await failMany();
    start([], { sessions: { handle, read: sessions.read.bind(sessions) } });
    await untilWaiting(3);
    await until(
      () => {
        timers.advance(DIGEST.windowMs);
        return Promise.resolve(reactor?.figures().waiting);
      },
      (waiting) => waiting === 0,
    );
    expect(await count('NotificationGivenUp')).toBe(1);
    expect((await count('NotificationSent')) + (await count('NotificationDigested'))).toBe(4);
  });

  it('are all sent after the process has ended in the middle, and none twice', async () => {
    await failMany();
    start();
    await untilWaiting(3);
    await reactor?.close();
    start();
    await until(
      () => count('NotificationSent'),
      (sent) => sent === 4,
    );
    await untilWaiting(1); // the fifth, which waits for others to be joined with
    timers.advance(DIGEST.windowMs);
    await untilWaiting(0);
    expect(await count('NotificationSent')).toBe(5);
    expect(smtp.mails).toHaveLength(5);
  });
});

describe('an execution that runs for long', () => {
  const HOUR_MS = 3_600_000;
  /** True for an execution whose last phase is RUNNING. */
  const isRunning = (execution: typeof stream): Promise<boolean> =>
    sessions.read(executionAggregate({ payloads }), execution, ({ state }) => state.phase === WORKFLOW.RUNNING);
  /** Starts the reactor that sends the recipients a message about each execution that runs for more than an hour. */
  const startLong = (...recipients: readonly string[]): void => {
    const rules = [{ ...rule('mail', []), longRunning: true, recipients }];
    const routing = { entries: { email: 'mail', slack: 'mail', pagerDuty: 'mail' }, rules };
    reactor = notifyLongRunning({ ...optionsOf([], { routing }), afterMs: HOUR_MS, isRunning });
  };
  const run = async (): Promise<void> => {
    await runCommand({ ...creation, created: create(ExecutionCreatedSchema, { id, spec: {} }) });
    await runCommand(workflow('RUNNING'));
  };

  it('causes one message by a rule that asks for it, also when the process ended meanwhile', async () => {
    startLong('ann@example.com');
    await run();
    await untilWaiting(1);
    timers.advance(HOUR_MS / 2);
    await reactor?.close();
    startLong('ann@example.com');
    await untilWaiting(1);
    expect(await types()).toEqual([]);
    timers.advance(HOUR_MS / 2);
    await untilTypes('Started', 'Sent');
    await untilWaiting(0);
    const { content } = smtp.mails[0]!;
    expect(content).toContain('has been running for long');
    expect((await recorded())[0]?.data).toMatchObject({ message: { runningLongerThan: { seconds: 3_600n } } });
  });

  it('causes no message when it ends before it has run for the configured time', async () => {
    startLong('ann@example.com');
    await run();
    await untilWaiting(1);
    await runCommand(workflow('SUCCEEDED'));
    timers.advance(HOUR_MS);
    await untilWaiting(0);
    expect(await types()).toEqual([]);
  });

  it('causes no further message once it has ended, and one that has failed is tried again', async () => {
    startLong('deferred@example.com');
    await run();
    await untilWaiting(1);
    timers.advance(HOUR_MS);
    await untilTypes('Started', 'Failed');
    await runCommand(workflow('SUCCEEDED'));
    await reactor?.close();
    startLong('deferred@example.com', 'bob@example.com');
    await untilWaiting(1);
    timers.advance(FIRST_RETRY_MS);
    await untilTypes('Started', 'Failed', 'Started', 'Failed');
    expect(smtp.mails).toEqual([]);
  });

  it('causes a message that says the same when it is sent again', async () => {
    startLong('ann@example.com');
    await run();
    await untilWaiting(1);
    timers.advance(HOUR_MS);
    await untilTypes('Started', 'Sent');
    await reactor?.close();
    start();
    await resend();
    await untilTypes('Started', 'Sent', 'ResendRequested', 'Started', 'Sent');
    expect(smtp.mails[1]?.content).toContain('has been running for long');
  });
});
