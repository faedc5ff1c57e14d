import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  NotificationDigestedSchema,
  NotificationFailedSchema,
  NotificationGivenUpSchema,
  NotificationMessageSchema,
  NotificationResendRequestedSchema,
  NotificationSentSchema,
  NotificationStartedSchema,
} from '../../../proto/gen/platformidl/eventlog/notification_pb.js';
import type { AttemptOutcome, NotificationCommand } from '../../../services/notification/commands.js';
import { notificationAggregate } from '../../../services/notification/decider.js';
import type { NotificationEvent } from '../../../services/notification/events.js';
import { given as givenFacts } from '../../support/streams/given.js';

const { decider } = notificationAggregate;
const given = (...facts: readonly NotificationEvent[]) => givenFacts(decider, ...facts);

/** Milliseconds since 1970. */
const NOW_MS = 1_700_000_000_000;
/** The pause before the next attempt. */
const RETRY_MS = 5_000;
/** An attempt that has not ended after this time is taken for lost. */
const LOST_MS = 120_000;
const message = {
  id: 'm1',
  execution: { project: 'p', domain: 'd', name: 'run' },
  revision: 7n,
  phase: WorkflowExecution_Phase.FAILED,
  channel: 'mail',
  recipient: 'team@example.com',
};
/** The message as events record it. */
const recorded = create(NotificationMessageSchema, message);
/** The reason for which a message is given up after two attempts of unknown outcome. */
const TWICE = 'it is not known whether the message was sent, and it was repeated once';

const started = (attempt: string, atMs = NOW_MS, isRepeat = false): NotificationEvent => ({
  type: 'NotificationStarted',
  data: create(NotificationStartedSchema, { message: recorded, attempt, startedAt: timestampFromMs(atMs), isRepeat }),
});
const sent = (attempt: string): NotificationEvent => ({
  type: 'NotificationSent',
  data: create(NotificationSentSchema, { messageId: 'm1', attempt, answer: '250 ok', sentAt: timestampFromMs(NOW_MS) }),
});
const failed = (attempt: string, isUnknown = false): NotificationEvent => ({
  type: 'NotificationFailed',
  data: create(NotificationFailedSchema, {
    messageId: 'm1',
    attempt,
    reason: 'no',
    failedAt: timestampFromMs(NOW_MS),
    nextAttemptAt: timestampFromMs(NOW_MS + RETRY_MS),
    isUnknown,
  }),
});
const givenUp = (reason: string, { atMs = NOW_MS, isUnknown = false } = {}): NotificationEvent => ({
  type: 'NotificationGivenUp',
  data: create(NotificationGivenUpSchema, { message: recorded, reason, givenUpAt: timestampFromMs(atMs), isUnknown }),
});
const resent: NotificationEvent = {
  type: 'NotificationResendRequested',
  data: create(NotificationResendRequestedSchema, {
    message: recorded,
    principal: 'ann',
    requestedAt: timestampFromMs(NOW_MS),
  }),
};

const begin = (attempt: string, nowMs = NOW_MS): NotificationCommand => ({
  type: 'BeginNotification',
  message,
  attempt,
  nowMs,
  lostAfterMs: LOST_MS,
});
/** Ends an attempt; a failed message is given up when its next attempt would be after `giveUpAtMs`. */
const end = (attempt: string, outcome: AttemptOutcome, giveUpAtMs = NOW_MS + 86_400_000): NotificationCommand => ({
  type: 'EndNotification',
  messageId: 'm1',
  attempt,
  outcome,
  nowMs: NOW_MS,
  nextAttemptAtMs: NOW_MS + RETRY_MS,
  giveUpAtMs,
});
const giveUp: NotificationCommand = { type: 'GiveUpNotification', message, reason: 'too old', nowMs: NOW_MS };
const resend: NotificationCommand = { type: 'ResendNotification', messageId: 'm1', principal: 'ann', nowMs: NOW_MS };

const OK = { kind: 'sent', answer: '250 ok' } as const;
const NO = { kind: 'failed', reason: 'no' } as const;
const UNKNOWN = { kind: 'unknown', reason: 'no' } as const;

describe('an attempt', () => {
  it('begins with a message that was never attempted', () => {
    given().when(begin('a')).then(started('a'));
  });
  it('that has begun does not begin again', () => {
    given(started('a')).when(begin('a')).thenNothing();
  });
  it('waits for another attempt that is running', () => {
    given(started('a'))
      .when(begin('b', NOW_MS + LOST_MS - 1))
      .thenRefused({ kind: 'in-progress', againAtMs: NOW_MS + LOST_MS });
  });
  it('after one that was lost is a repetition', () => {
    given(started('a'))
      .when(begin('b', NOW_MS + LOST_MS))
      .then(started('b', NOW_MS + LOST_MS, true));
  });
  it('after two that were lost does not begin: the message is given up', () => {
    const later = NOW_MS + LOST_MS;
    given(started('a', 0), started('b', NOW_MS, true))
      .when(begin('c', later))
      .thenRefused({ kind: 'finished', isGivenUpNow: true }, givenUp(TWICE, { atMs: later, isUnknown: true }));
  });
  it('waits until a failed message is due again', () => {
    given(started('a'), failed('a'))
      .when(begin('b', NOW_MS + RETRY_MS - 1))
      .thenRefused({ kind: 'not-due', againAtMs: NOW_MS + RETRY_MS });
    given(started('a'), failed('a'))
      .when(begin('b', NOW_MS + RETRY_MS))
      .then(started('b', NOW_MS + RETRY_MS));
  });
  it('after one that may have sent the message is a repetition', () => {
    given(started('a'), failed('a', true))
      .when(begin('b', NOW_MS + RETRY_MS))
      .then(started('b', NOW_MS + RETRY_MS, true));
  });
  it.each([
    ['sent', sent('a')],
    ['given up', givenUp('no')],
  ])('does not begin with a message that was %s', (_, fact) => {
    given(started('a'), fact).when(begin('b')).thenRefused({ kind: 'finished' });
  });
});

describe('the end of an attempt', () => {
  it('records that the message was sent, once', () => {
    given(started('a')).when(end('a', OK)).then(sent('a'));
    given(started('a'), sent('a')).when(end('a', OK)).thenNothing();
  });
  it('records the failure with the next attempt', () => {
    given(started('a')).when(end('a', NO)).then(failed('a'));
  });
  it('gives up a message that the server refuses', () => {
    given(started('a'))
      .when(end('a', { kind: 'refused', reason: '550 no such user' }))
      .then(givenUp('550 no such user'));
  });
  it('gives up a message that has failed for too long', () => {
    given(started('a'))
      .when(end('a', NO, NOW_MS + RETRY_MS - 1))
      .then(givenUp('failed for too long: no'));
    given(started('a'))
      .when(end('a', UNKNOWN, NOW_MS + RETRY_MS - 1))
      .then(givenUp('failed for too long: no', { isUnknown: true }));
  });
  it('lets a message that may have been sent be repeated once', () => {
    given(started('a')).when(end('a', UNKNOWN)).then(failed('a', true));
    given(started('a'), failed('a', true), started('b', NOW_MS, true))
      .when(end('b', UNKNOWN))
      .then(givenUp(`${TWICE}: no`, { isUnknown: true }));
  });
  it('of an attempt that was taken for lost counts when it sent the message, and not when it failed', () => {
    given(started('a'), started('b', NOW_MS, true))
      .when(end('a', OK))
      .then(sent('a'));
    given(started('a'), started('b', NOW_MS, true))
      .when(end('a', NO))
      .thenNothing();
  });
  it('of a message that is not there is refused', () => {
    given().when(end('a', NO)).thenRefused({ kind: 'no-such-message' });
  });
});

describe('a message', () => {
  it('is given up once, also before any attempt', () => {
    given().when(giveUp).then(givenUp('too old'));
    given(givenUp('too old')).when(giveUp).thenNothing();
    given(started('a'), sent('a')).when(giveUp).thenNothing();
  });
  it('that was given up after an attempt whose outcome is unknown is sent on request as a repetition', () => {
    const lost = givenUp('too old', { isUnknown: true });
    given(started('a')).when(giveUp).then(lost);
    given(started('a'), lost, resent)
      .when(begin('b'))
      .then(started('b', NOW_MS, true));
  });
  it('that was sent is sent again on request, as a repetition', () => {
    given(started('a'), sent('a')).when(resend).then(resent);
    given(started('a'), sent('a'), resent)
      .when(begin('b'))
      .then(started('b', NOW_MS, true));
  });
  it('that was given up before it was sent is sent on request, and not as a repetition', () => {
    given(givenUp('too old'), resent).when(begin('b')).then(started('b'));
  });
  it('is not sent again while an attempt is running, or when there is no such message', () => {
    given(started('a')).when(resend).thenRefused({ kind: 'in-progress', againAtMs: NOW_MS });
    given().when(resend).thenRefused({ kind: 'no-such-message' });
  });
});

describe('in any sequence of attempts', () => {
  type Step = { readonly waitMs: number; readonly outcome: AttemptOutcome | undefined };
  const outcomes = fc.constantFrom<AttemptOutcome | undefined>(OK, NO, UNKNOWN, undefined);
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.record({ waitMs: fc.integer({ min: 0, max: 2 * LOST_MS }), outcome: outcomes }),
    { maxLength: 12 },
  );

  it('at most two attempts may have sent the message, the second as a repetition, and none follows one that did', () => {
    let repeated = 0;
    fc.assert(
      fc.property(steps, (story) => {
        let state = decider.initial();
        let nowMs = NOW_MS;
        const attempts: { outcome: AttemptOutcome | undefined; isRepeat: boolean }[] = [];
        const record = (command: NotificationCommand): readonly NotificationEvent[] => {
          const decision = decider.decide(state, command);
          const events = decision.kind === 'unsure' ? [] : (decision.events ?? []);
          for (const event of events) state = decider.evolve(state, event);
          return events;
        };
        story.forEach(({ waitMs, outcome }, at) => {
          nowMs += waitMs;
          const [event] = record(begin(`a${at}`, nowMs));
          if (event?.type !== 'NotificationStarted') return;
          attempts.push({ outcome, isRepeat: event.data.isRepeat });
          if (outcome) record({ ...end(`a${at}`, outcome), nowMs });
        });
        const maySend = attempts.filter(({ outcome }) => outcome?.kind !== 'failed');
        expect(maySend.length).toBeLessThanOrEqual(2);
        expect(maySend.slice(1).every(({ isRepeat }) => isRepeat)).toBe(true);
        expect(attempts.findIndex(({ outcome }) => outcome === OK)).oneOf([-1, attempts.length - 1]);
        if (maySend.length === 2) repeated += 1;
      }),
    );
    expect(repeated).toBeGreaterThan(10);
  });
});

describe('a message that is part of a digest', () => {
  const digest = { id: 'm2', execution: { project: 'p', domain: 'd', name: 'other' } };
  const digested: NotificationEvent = {
    type: 'NotificationDigested',
    data: create(NotificationDigestedSchema, {
      message: recorded,
      ...{ digestId: digest.id, digestExecution: digest.execution, digestedAt: timestampFromMs(NOW_MS) },
    }),
  };
  const command = { type: 'DigestNotification', message, digest, nowMs: NOW_MS } as const;
  const begin = { type: 'BeginNotification', message, attempt: 'a', nowMs: NOW_MS, lostAfterMs: LOST_MS } as const;

  it('is recorded as such, once', () => {
    given().when(command).then(digested);
    given(digested).when(command).thenNothing();
  });
  it('is not sent', () => {
    given(digested).when(begin).thenRefused({ kind: 'finished' });
  });
  it('is sent after a request to send it again', () => {
    given(digested, resent).when(begin).then(started('a'));
  });
  it('keeps its outcome when it was sent before', () => {
    given(started('a'), sent('a')).when(command).thenNothing();
  });
  it('is named by the first attempt of the digest', () => {
    const others = [create(NotificationMessageSchema, { ...message, id: 'm3' })];
    const start = started('a');
    if (start.type === 'NotificationStarted') start.data.digest = others;
    given()
      .when({ ...begin, digest: [{ ...message, id: 'm3' }] })
      .then(start);
  });
});
