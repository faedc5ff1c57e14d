import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  type Notification,
  NotificationService,
  NotificationStatus,
} from '../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';
import { type ExecutionId, workflowReport } from '../support/requests/reports.js';
import { smtpSink, type SmtpSink } from '../support/servers/smtp-sink.js';
import { until } from '../support/until.js';

/** A recipient whose mail the SMTP server of the test receives without an answer. */
const UNANSWERED = 'silent@example.com';
/** A recipient whose mail the SMTP server accepts. */
const ANSWERED = 'answered@example.com';

let smtp: SmtpSink;
let directory: string;
let plane: ControlPlane;

/**
 * Starts a control plane that sends mail about failures to one recipient, and about executions that run longer than
 * 1 s to the other. Within a second, the first failure is sent at once, and all others are joined in a digest.
 */
const start = (): Promise<ControlPlane> =>
  startControlPlane(
    {
      FLIGHTLOG_NOTIFICATIONS_SMTP_HOST: '127.0.0.1',
      FLIGHTLOG_NOTIFICATIONS_SMTP_PORT: String(smtp.port),
      FLIGHTLOG_NOTIFICATIONS_SMTP_SECURITY: 'none',
      FLIGHTLOG_NOTIFICATIONS_TIMEOUT: '2s',
      FLIGHTLOG_NOTIFICATIONS_RUNNING_LONGER_THAN: '1s',
      FLIGHTLOG_NOTIFICATIONS_DIGEST_AFTER: '1',
      FLIGHTLOG_NOTIFICATIONS_DIGEST_WINDOW: '1s',
      FLIGHTLOG_NOTIFICATIONS_RULES: JSON.stringify([
        { phases: ['FAILED'], channel: 'mail', recipients: [UNANSWERED] },
        { phases: ['LONG_RUNNING'], channel: 'mail', recipients: [ANSWERED] },
      ]),
    },
    directory,
  );

const mailsTo = (recipient: string) => smtp.mails.filter(({ to }) => to === recipient);

beforeAll(async () => {
  smtp = await smtpSink();
  directory = mkdtempSync(join(tmpdir(), 'flightlog-mail-'));
  plane = await start();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(async () => {
  await plane.close();
  await smtp.die();
  rmSync(directory, { recursive: true, force: true });
});

/** Launches an execution, and reports that it has failed. */
const fail = async (name: string): Promise<ExecutionId> => {
  const id = await launchHello(plane.grpc, name);
  await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
  await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED }));
  return id;
};
const untilMails = (count: number): Promise<unknown> =>
  until(
    () => Promise.resolve(mailsTo(UNANSWERED)),
    ({ length }) => length === count,
  );
/** The message to the unanswered recipient about an execution. */
const messageAbout = async (id: ExecutionId): Promise<Notification | undefined> => {
  const { notifications } = await plane.grpc.call(NotificationService.method.listNotifications, { id });
  return notifications.find(({ recipient }) => recipient === UNANSWERED);
};
const untilGivenUp = (id: ExecutionId): Promise<Notification | undefined> =>
  until(
    () => messageAbout(id),
    (found) => found?.status === NotificationStatus.GIVEN_UP,
  );
/** The mails to the unanswered recipient about an execution, without the soft line breaks of quoted-printable. */
const mailsAbout = ({ name }: ExecutionId): readonly string[] =>
  mailsTo(UNANSWERED)
    .map(({ content }) => content.replaceAll('=\r\n', ''))
    .filter((content) => content.includes(`Subject: Execution ${name} `));

describe('mails whose process is killed after DATA and before the answer', () => {
  const names = ['first', 'second', 'third', 'fourth'];
  let alone: ExecutionId;
  let joined: readonly ExecutionId[];

  beforeAll(async () => {
    alone = await fail('alone');
    await untilMails(1);
    joined = await Promise.all(names.map(fail));
    await untilMails(2);
    await plane.kill();
    plane = await start();
  });

  const expectSentTwice = (id: ExecutionId, message: Notification | undefined): void => {
    expect(message).toMatchObject({ attempts: 2, mayHaveArrived: true });
    expect(message?.reason).toContain('it is not known whether the message was sent, and it was repeated once');
    const mails = mailsAbout(id);
    expect(mails.map((content) => content.includes('sent once more'))).toEqual([false, true]);
    const ids = mails.map((content) => /^Message-ID: (.*)$/mu.exec(content)?.[1]);
    expect(ids[0]).toBe(ids[1]);
  };

  it('are sent once more, say so, and never again', async () => {
    expectSentTwice(alone, await untilGivenUp(alone));
  });

  it('as digests are sent once more too, and name each execution; all messages but one are DIGESTED', async () => {
    const found = await Promise.all(joined.map(messageAbout));
    const lead = joined[found.findIndex((message) => message?.status !== NotificationStatus.DIGESTED)]!;
    const message = await untilGivenUp(lead);
    expectSentTwice(lead, message);
    const others = joined.filter((id) => id !== lead);
    for (const { name } of others) for (const mail of mailsAbout(lead)) expect(mail).toContain(name);
    for (const other of await Promise.all(others.map(messageAbout)))
      expect(other).toMatchObject({ status: NotificationStatus.DIGESTED, digestId: message?.id, attempts: 0 });
    expect(mailsTo(UNANSWERED)).toHaveLength(4); // the mail about `alone` and the digest, each twice
  });
});

it('an execution that runs longer than is configured causes a mail by the rule for LONG_RUNNING', async () => {
  const id = await launchHello(plane.grpc, 'slow');
  await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
  const [notification] = await until(
    async () => (await plane.grpc.call(NotificationService.method.listNotifications, { id })).notifications,
    ([first]) => first?.status === NotificationStatus.SENT,
  );
  expect(notification).toMatchObject({ recipient: ANSWERED, phase: Phase.RUNNING, runningLongerThan: { seconds: 1n } });
  expect(mailsTo(ANSWERED).at(-1)?.content).toContain('been running for long');
});
