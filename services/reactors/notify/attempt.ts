import { randomUUID } from 'node:crypto';

import type { Sessions } from '../../kernel/ports/sessions.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { AttemptOutcome, MessageKey, NotificationCommand } from '../../notification/commands.js';
import { notificationAggregate, type NotificationRefusal } from '../../notification/decider.js';
import { notificationStream } from '../../notification/events.js';
import { retryDelayMs, type RetryPolicy } from '../frame/retry.js';
import type { Worked } from '../frame/work-queue.js';
import type { Channel } from './channels/channel.js';
import { channelLimit, type Limits } from './limits.js';
import type { Facts } from './facts.js';
import { composeMessage, type Templates } from './message/message.js';

/** A channel with what it may do and how its messages are written. */
export type ConfiguredChannel = { readonly channel: Channel; readonly limits: Limits; readonly templates: Templates };

export type AttemptOptions = {
  readonly sessions: Pick<Sessions, 'handle' | 'read'>;
  readonly channels: ReadonlyMap<string, ConfiguredChannel>;
  readonly timers: Timers;
  /** The longest that an attempt may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly retry: RetryPolicy & { readonly giveUpAfterMs: number };
  /** Ends attempts when the process stops. */
  readonly closing: AbortSignal;
  readonly random?: () => number;
  /** Called with the outcome of every attempt. */
  readonly onOutcome: (channel: string, outcome: AttemptOutcome['kind'] | 'given-up') => void;
};

type Due = {
  readonly key: MessageKey;
  readonly facts: Facts;
  /** When the message was first due, or asked for again; milliseconds since 1970. */
  readonly sinceMs: number;
};

/** An attempt without an outcome is lost after twice the time that it may take. */
const LOST_AFTER_TIMEOUTS = 2;

const afterRefusal = (refusal: NotificationRefusal): Worked =>
  'againAtMs' in refusal ? { againAtMs: refusal.againAtMs } : undefined;

/** Sends messages, each attempt recorded before and after it is made. */
export const attempts = (options: AttemptOptions) => {
  const { sessions, channels, timers, timeoutMs, retry, closing, random = Math.random, onOutcome } = options;
  const limits = new Map([...channels].map(([name, each]) => [name, channelLimit(each.limits)]));

  const handle = ({ key, facts }: Due, command: NotificationCommand, step: string) =>
    sessions.handle(notificationAggregate, notificationStream(key.execution), command, {
      actor: 'notify',
      commandId: `notify-${key.id}-${step}`,
      causationId: facts.eventId,
      traceParent: facts.traceParent,
    });

  const giveUp = async (due: Due, reason: string): Promise<undefined> => {
    const { key } = due;
    await handle(due, { type: 'GiveUpNotification', message: key, reason, nowMs: timers.now() }, randomUUID());
    onOutcome(key.channel, 'given-up');
    return undefined;
  };

  const known = (key: MessageKey) =>
    sessions.read(notificationAggregate, notificationStream(key.execution), ({ state }) => {
      const { attempts: count = 0, mayHaveArrived = false } = state.messages.get(key.id) ?? {};
      return { count, mayHaveArrived };
    });

  const send = async (due: Due, to: ConfiguredChannel, attempt: string): Promise<Worked> => {
    const { key, facts, sinceMs } = due;
    const { count, mayHaveArrived } = await known(key);
    const message = composeMessage(to.templates, key, facts, mayHaveArrived);
    const outcome = await to.channel.send(message, AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]));
    const nowMs = timers.now();
    const asked = outcome.kind === 'failed' ? (outcome.retryAfterMs ?? 0) : 0;
    const nextAttemptAtMs = nowMs + Math.max(asked, retryDelayMs(retry, count, random()));
    const giveUpAtMs = sinceMs + retry.giveUpAfterMs;
    const ended = { messageId: key.id, attempt, outcome, nowMs, nextAttemptAtMs, giveUpAtMs };
    await handle(due, { type: 'EndNotification', ...ended }, `${attempt}-end`);
    onOutcome(key.channel, outcome.kind);
    return outcome.kind === 'sent' || outcome.kind === 'refused' ? undefined : { againAtMs: nextAttemptAtMs };
  };

  const begin = async (due: Due, to: ConfiguredChannel): Promise<Worked> => {
    const attempt = randomUUID();
    const lostAfterMs = LOST_AFTER_TIMEOUTS * timeoutMs;
    const begun = { message: due.key, attempt, nowMs: timers.now(), lostAfterMs };
    const outcome = await handle(due, { type: 'BeginNotification', ...begun }, attempt);
    return outcome.kind === 'refused' ? afterRefusal(outcome.refusal) : send(due, to, attempt);
  };

  /**
   * Makes one attempt to send a message, if it is due.
   *
   * @returns when the message is to be looked at again; `undefined` when it is finished.
   */
  return async (due: Due): Promise<Worked> => {
    const to = channels.get(due.key.channel);
    const limit = limits.get(due.key.channel);
    if (!to || !limit) return giveUp(due, `there is no channel ${due.key.channel}`);
    if (timers.now() - due.sinceMs > retry.giveUpAfterMs) return giveUp(due, 'it was due too long ago');
    const leave = limit.take(timers.now());
    if (leave.kind === 'later') return { againAtMs: leave.atMs };
    try {
      return await begin(due, to);
    } finally {
      limit.release();
    }
  };
};
