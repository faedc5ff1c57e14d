import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  type NotificationList,
  NotificationListRequestSchema,
  NotificationResendRequestSchema,
  NotificationService,
  NotificationStatus,
} from '../../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import { executionExists } from '../../../services/execution/creation.js';
import { decodeEvent } from '../../../services/kernel/decode-event.js';
import { executionStream } from '../../../services/kernel/execution-id.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Sessions } from '../../../services/kernel/ports/sessions.js';
import type { Call } from '../../../services/kernel/rpc.js';
import type { AttemptOutcome, NotificationCommand } from '../../../services/notification/commands.js';
import { notificationAggregate } from '../../../services/notification/decider.js';
import { notificationCodec, notificationStream } from '../../../services/notification/events.js';
import { notificationRoutes } from '../../../services/notification/rpc.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { creation, id, stream } from '../execution/reports.js';

/** Milliseconds since 1970. */
const NOW_MS = 1_700_000_000_000;
const RETRY_MS = 5_000;
const LATER_MS = NOW_MS + RETRY_MS;

let directory: string;
let store: EventStore;
let sessions: Sessions;
/** The position that the last call was answered with. */
let position: bigint | undefined;

const call: Call = {
  principal: 'ann',
  requestId: 'request-1',
  isCancelled: () => false,
  answeredAt: (at) => {
    position = at;
  },
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-notifications-'));
  store = await sqliteEventStore({ directory });
  const payloads = filePayloadStore({ directory });
  sessions = openSessions({ store, payloads, now: () => NOW_MS });
  const command = { ...creation, created: create(ExecutionCreatedSchema, { id, spec: {} }) };
  await sessions.handle(executionAggregate({ payloads }), stream, command, { actor: 'ann', commandId: 'creation' });
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Asks the route of an RPC, as the transports do. */
const ask = async (rpc: keyof typeof NotificationService.method, request: unknown): Promise<unknown> => {
  const method = NotificationService.method[rpc];
  const route = notificationRoutes({
    sessions,
    executionExists: (asked) => executionExists(store, asked),
    now: () => LATER_MS,
  }).find((each) => each.method === method);
  return route?.handle(request as never, call);
};
const list = async (of: Partial<typeof id> = id): Promise<NotificationList> => {
  const asked = create(NotificationListRequestSchema, { id: { project: '', domain: '', name: '', ...of } });
  return (await ask('listNotifications', asked)) as NotificationList;
};

const resend = (messageId: string, of: Partial<typeof id> = id): Promise<unknown> => {
  const asked = { id: { project: '', domain: '', name: '', ...of }, messageId };
  return ask('resendNotification', create(NotificationResendRequestSchema, asked));
};

const record = (command: NotificationCommand): Promise<unknown> =>
  sessions.handle(notificationAggregate, notificationStream(id), command, { actor: '', commandId: randomUUID() });

const messageTo = (recipient: string) => {
  const { project, domain, name } = id;
  const execution = { project, domain, name };
  return { id: `to-${recipient}`, execution, revision: 4n, phase: Phase.FAILED, channel: 'mail', recipient };
};

/** Begins an attempt to send the message to a recipient, and ends it where an outcome is given. */
const attempted = async (recipient: string, outcome?: AttemptOutcome): Promise<void> => {
  const message = messageTo(recipient);
  const attempt = randomUUID();
  await record({ type: 'BeginNotification', message, attempt, nowMs: NOW_MS, lostAfterMs: RETRY_MS });
  const ended = { messageId: message.id, attempt, nowMs: NOW_MS, nextAttemptAtMs: LATER_MS, giveUpAtMs: LATER_MS };
  if (outcome) await record({ type: 'EndNotification', ...ended, outcome });
};

describe('the messages about an execution', () => {
  it('are listed in the order of their first attempts, each with its recipient and its event', async () => {
    await attempted('bob@example.com');
    await attempted('ann@example.com');
    const { notifications } = await list();
    expect(notifications.map((each) => each.id)).toEqual(['to-bob@example.com', 'to-ann@example.com']);
    expect(notifications[0]).toMatchObject({
      revision: 4n,
      phase: Phase.FAILED,
      channel: 'mail',
      recipient: 'bob@example.com',
      attempts: 1,
    });
  });

  it.each<[string, AttemptOutcome | undefined, object]>([
    ['being sent', undefined, { status: NotificationStatus.SENDING, mayHaveArrived: false }],
    [
      'sent, with the answer of the server',
      { kind: 'sent', answer: '250 ok' },
      { status: NotificationStatus.SENT, answer: '250 ok', mayHaveArrived: true },
    ],
    [
      'failed, with the time of the next attempt',
      { kind: 'failed', reason: '451 later' },
      { status: NotificationStatus.WAITING, reason: '451 later', mayHaveArrived: false },
    ],
    [
      'of unknown outcome',
      { kind: 'unknown', reason: 'the connection ended' },
      { status: NotificationStatus.WAITING, reason: 'the connection ended', mayHaveArrived: true },
    ],
    [
      'given up, with the reason',
      { kind: 'refused', reason: '550 no such user' },
      { status: NotificationStatus.GIVEN_UP, reason: '550 no such user' },
    ],
  ])('say their status: %s', async (_what, outcome, shown) => {
    await attempted('ann@example.com', outcome);
    const [notification] = (await list()).notifications;
    expect(notification).toMatchObject({ answer: '', reason: '', ...shown });
    expect(notification?.since && timestampMs(notification.since)).toBe(NOW_MS);
    const waits = notification?.status === NotificationStatus.WAITING;
    expect(notification?.nextAttemptAt && timestampMs(notification.nextAttemptAt)).toBe(waits ? LATER_MS : undefined);
  });

  it('are listed with the position of the last event about them', async () => {
    await attempted('ann@example.com', { kind: 'sent', answer: '250 ok' });
    expect((await list()).position).toBe(await store.head());
    expect(position).toBe(await store.head());
  });

  it('are none where nothing was to be sent', async () => {
    expect(await list()).toMatchObject({ notifications: [], position: 0n });
  });

  it('are not found when there is no such execution', async () => {
    await expect(list({ ...id, name: 'unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are not found when every attempt to create the execution was voided', async () => {
    const voided = { ...id, name: 'voided' };
    const command = { type: 'VoidExecution', id: voided, attempt: 'x' } as const;
    const aggregate = executionAggregate({ payloads: filePayloadStore({ directory }) });
    await sessions.handle(aggregate, executionStream(voided), command, { actor: 'slots', commandId: 'voiding' });
    await expect(list(voided)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it.each(['project', 'domain', 'name'])('are not listed without the %s', async (part) => {
    const message = `missing id.${part}`;
    await expect(list({ ...id, [part]: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message });
  });
});

describe('a message that a caller asks to send again', () => {
  it.each<[string, AttemptOutcome]>([
    ['was sent', { kind: 'sent', answer: '250 ok' }],
    ['has failed', { kind: 'failed', reason: '451 later' }],
    ['was given up', { kind: 'refused', reason: '550 no such user' }],
  ])('waits to be sent at once, where it %s', async (_what, outcome) => {
    await attempted('ann@example.com', outcome);
    await resend('to-ann@example.com');
    expect(position).toBe(await store.head());
    const [notification] = (await list()).notifications;
    expect(notification).toMatchObject({ status: NotificationStatus.WAITING, attempts: 1, reason: '' });
    expect(notification?.nextAttemptAt && timestampMs(notification.nextAttemptAt)).toBe(LATER_MS);
  });

  it('is recorded with the caller as the principal', async () => {
    await attempted('ann@example.com', { kind: 'sent', answer: '250 ok' });
    await resend('to-ann@example.com');
    const events = [];
    for await (const page of store.readStream(notificationStream(id))) events.push(...page);
    const { type, data } = decodeEvent(notificationCodec, events.at(-1)!);
    expect({ type, data }).toMatchObject({ type: 'NotificationResendRequested', data: { principal: 'ann' } });
  });

  it('is refused while an attempt to send it is running', async () => {
    await attempted('ann@example.com');
    const before = await store.head();
    await expect(resend('to-ann@example.com')).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    expect(await store.head()).toBe(before);
  });

  it('is not found when its id is unknown', async () => {
    await expect(resend('to-nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('has to be named, and its execution too', async () => {
    await expect(resend('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: 'missing message_id' });
    await expect(resend('m', { ...id, name: '' })).rejects.toMatchObject({ message: 'missing id.name' });
  });
});
