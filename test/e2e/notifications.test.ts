import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  NotificationService,
  NotificationStatus,
} from '../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/control-plane.js';
import { withNeeds } from '../support/fixtures.js';
import { launchHello } from '../support/hello.js';
import { workflowReport } from '../support/reports.js';
import { smtpSink, type SmtpSink } from '../support/smtp-sink.js';
import { until } from '../support/until.js';

const RECIPIENT = 'silent@example.com';
const PATIENT = 'patient@example.com';
/** Gets one message by itself, and the others in digests. Its server never answers. */
const DIGESTED = 'silent@digests.example.com';

let smtp: SmtpSink;
let directory: string;
let plane: ControlPlane;

const start = (): Promise<ControlPlane> =>
  startControlPlane(
    {
      FLIGHTLOG_NOTIFICATIONS_SMTP_HOST: '127.0.0.1',
      FLIGHTLOG_NOTIFICATIONS_SMTP_PORT: String(smtp.port),
      FLIGHTLOG_NOTIFICATIONS_SMTP_SECURITY: 'none',
      FLIGHTLOG_NOTIFICATIONS_TIMEOUT: '2s',
      FLIGHTLOG_NOTIFICATIONS_RUNNING_LONGER_THAN: '1s',
      FLIGHTLOG_NOTIFICATIONS_DIGEST_AFTER: '1',
      FLIGHTLOG_NOTIFICATIONS_DIGEST_WINDOW: '3s',
      FLIGHTLOG_NOTIFICATIONS_RULES: JSON.stringify([
        { phases: ['FAILED'], channel: 'mail', recipients: [RECIPIENT] },
        { phases: ['LONG_RUNNING'], channel: 'mail', recipients: [PATIENT] },
        { phases: ['TIMED_OUT'], channel: 'mail', recipients: [DIGESTED] },
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

it('a mail whose process is killed after DATA and before the answer is sent once more, says so, and never again', async () => {
  const id = await launchHello(plane.grpc, 'unanswered');
  await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
  await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.FAILED }));
  await until(
    () => Promise.resolve(mailsTo(RECIPIENT)),
    ({ length }) => length === 1,
  );
  await plane.kill();
  plane = await start();
  const notifications = await until(
    async () => (await plane.grpc.call(NotificationService.method.listNotifications, { id })).notifications,
    (found) => found.some(({ status }) => status === NotificationStatus.GIVEN_UP),
  );
  const notification = notifications.find(({ recipient }) => recipient === RECIPIENT);
  expect(notification).toMatchObject({ recipient: RECIPIENT, attempts: 2, mayHaveArrived: true });
  expect(notification?.reason).toContain('it is not known whether the message was sent, and it was repeated once');
  const mails = mailsTo(RECIPIENT);
  expect(mails.map(({ content }) => content.replaceAll('=\r\n', '').includes('sent once more'))).toEqual([false, true]);
  const ids = mails.map(({ content }) => /^Message-ID: (.*)$/mu.exec(content)?.[1]);
  expect(ids[0]).toBe(ids[1]);
});

it('an execution that runs for longer than is configured is a mail to the rules that ask for it', async () => {
  const id = await launchHello(plane.grpc, 'slow');
  await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
  const [notification] = await until(
    async () => (await plane.grpc.call(NotificationService.method.listNotifications, { id })).notifications,
    ([first]) => first?.status === NotificationStatus.SENT,
  );
  expect(notification).toMatchObject({ recipient: PATIENT, phase: Phase.RUNNING, runningLongerThan: { seconds: 1n } });
  expect(mailsTo(PATIENT).at(-1)?.content).toContain('been running for long');
});

it('a digest whose process is killed before it is answered is sent once more, with the same names', async () => {
  const names = ['late-1', 'late-2', 'late-3', 'late-4', 'late-5'];
  const ids = await Promise.all(names.map((name) => launchHello(plane.grpc, name)));
  for (const id of ids)
    await plane.grpc.call(AdminService.method.createWorkflowEvent, workflowReport(id, { phase: Phase.TIMED_OUT }));
  const digests = () => mailsTo(DIGESTED).filter(({ content }) => /\(and 3\s+more\)/u.test(content));
  await until(
    () => Promise.resolve(digests()),
    ({ length }) => length === 1,
  );
  await plane.kill();
  plane = await start();
  const statusOf = async (id: (typeof ids)[number]) => {
    const { notifications } = await plane.grpc.call(NotificationService.method.listNotifications, { id });
    return notifications.filter(({ recipient }) => recipient === DIGESTED).map(({ status }) => status);
  };
  const statuses = await until(
    async () => (await Promise.all(ids.map(statusOf))).flat(),
    (all) => all.filter((status) => status === NotificationStatus.GIVEN_UP).length === 2,
  );
  // One was sent by itself, one is the digest, and neither was ever answered; the digest stands for the others.
  expect(statuses.filter((status) => status === NotificationStatus.DIGESTED)).toHaveLength(3);
  expect(statuses).toHaveLength(5);
  const ownNames = digests().map(({ content }) =>
    names.filter((name) => content.replaceAll('=\r\n', '').includes(name)),
  );
  expect(ownNames).toHaveLength(2);
  expect(ownNames[0]).toEqual(ownNames[1]);
  expect(new Set(digests().map(({ content }) => /^Message-ID: (.*)$/mu.exec(content)?.[1])).size).toBe(1);
});
