import { randomUUID } from 'node:crypto';

import type { Sessions } from '../../kernel/ports/sessions.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { AttemptOutcome, MessageKey } from '../../notification/commands.js';
import type { NotificationRefusal } from '../../notification/decider.js';
import { retryDelayMs, type WorkRetryPolicy } from '../frame/retry.js';
import type { WorkResult } from '../frame/work-queue.js';
import type { Channel } from './channels/channel.js';
import { type DigestLimits, openDigests, type Placed } from './digests.js';
import { channelLimit, type Limits } from './limits.js';
import { type DueMessage, messageRecords } from './records.js';
import { composeMessage, type Templates } from './message/message.js';

/** A channel with its limits, the templates of its messages, and the limits of its digests. */
export type ConfiguredChannel = {
  readonly channel: Channel;
  readonly limits: Limits;
  readonly templates: Templates;
  /** Absent where each message is sent by itself. */
  readonly digest?: DigestLimits;
};

export type AttemptOptions = {
  readonly sessions: Pick<Sessions, 'handle' | 'read'>;
  readonly channels: ReadonlyMap<string, ConfiguredChannel>;
  readonly timers: Timers;
  /** The longest that an attempt may take, in milliseconds. */
  readonly timeoutMs: number;
  /** `giveUpAfterMs` counts from the time when a message was first due, or asked for again. */
  readonly retry: WorkRetryPolicy & { readonly giveUpAfterMs: number };
  /** Ends attempts when the process stops. */
  readonly closing: AbortSignal;
  readonly random?: () => number;
  /**
   * Called with the outcome of every attempt that is not lost, with `given-up` for a message that is given up without a
   * further attempt, and with `digested` for each message that a digest replaces.
   */
  readonly onOutcome: (channel: string, outcome: AttemptOutcome['kind'] | 'given-up' | 'digested') => void;
};

const NO_DIGESTS: DigestLimits = { after: 0, windowMs: 0 };

const opened = ({ limits, digest = NO_DIGESTS, ...rest }: ConfiguredChannel) => ({
  ...rest,
  limit: channelLimit(limits),
  digests: openDigests(digest),
});

type OpenChannel = ReturnType<typeof opened>;

/** Only a message that was never tried joins a digest, or becomes one. */
const placed = ({ key, content }: DueMessage, { digests }: OpenChannel, isKnown: boolean, nowMs: number): Placed =>
  isKnown ? { kind: 'send', digest: [] } : digests.place(key, content, nowMs);

/** Sends messages, each attempt recorded before and after it is made. */
export const attempts = (options: AttemptOptions) => {
  const { timers, timeoutMs, retry, closing, random = Math.random, onOutcome } = options;
  const channels = new Map([...options.channels].map(([name, each]) => [name, opened(each)]));
  const { lostAfterMs, handle, known, recordDigested } = messageRecords(options);

  /** Forgets the digest that the message is, if it is one; its members without an outcome are placed again. */
  const forgetDigest = ({ key }: DueMessage): void => channels.get(key.channel)?.digests.forget(key.id);

  /** Another process may have finished the message, or be sending it. */
  const afterRefusal = (due: DueMessage, refusal: NotificationRefusal): WorkResult => {
    if (refusal.kind === 'finished') forgetDigest(due);
    if (refusal.kind === 'finished' && refusal.isGivenUpNow) onOutcome(due.key.channel, 'given-up');
    return 'againAtMs' in refusal ? { againAtMs: refusal.againAtMs } : undefined;
  };

  const giveUp = async (due: DueMessage, reason: string): Promise<undefined> => {
    const { key } = due;
    await handle(due, { type: 'GiveUpNotification', message: key, reason, nowMs: timers.now() }, randomUUID());
    onOutcome(key.channel, 'given-up');
    forgetDigest(due);
    return undefined;
  };

  const send = async (due: DueMessage, to: OpenChannel, attempt: string): Promise<WorkResult> => {
    const { key, content, sinceMs } = due;
    const { count, mayHaveArrived, digest } = await known(key);
    // A lost attempt may have recorded only some members of the digest.
    if (count === 1 || mayHaveArrived) await recordDigested(due, digest);
    forgetDigest(due);
    const names = digest.map(({ execution }) => execution?.name ?? '');
    const message = composeMessage(to.templates, key, content, { isRepeat: mayHaveArrived, digest: names });
    const outcome = await to.channel.send(message, AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]));
    const nowMs = timers.now();
    const requestedDelayMs = outcome.kind === 'failed' ? (outcome.retryAfterMs ?? 0) : 0;
    const nextAttemptAtMs = nowMs + Math.max(requestedDelayMs, retryDelayMs(retry, count, random()));
    const giveUpAtMs = sinceMs + retry.giveUpAfterMs;
    const ended = { messageId: key.id, attempt, outcome, nowMs, nextAttemptAtMs, giveUpAtMs };
    await handle(due, { type: 'EndNotification', ...ended }, `${attempt}-end`);
    onOutcome(key.channel, outcome.kind);
    return outcome.kind === 'sent' || outcome.kind === 'refused' ? undefined : { againAtMs: nextAttemptAtMs };
  };

  const begin = async (due: DueMessage, to: OpenChannel, digest: readonly MessageKey[]): Promise<WorkResult> => {
    const attempt = randomUUID();
    const begun = { message: due.key, attempt, nowMs: timers.now(), lostAfterMs, digest };
    const outcome = await handle(due, { type: 'BeginNotification', ...begun }, attempt);
    return outcome.kind === 'refused' ? afterRefusal(due, outcome.refusal) : send(due, to, attempt);
  };

  /**
   * Makes one attempt to send a message, if it is due.
   *
   * @returns when the message is to be looked at again; `undefined` when it is finished.
   */
  return async (queued: DueMessage): Promise<WorkResult> => {
    const { key } = queued;
    const { isKnown, refusal, requestedAtMs } = await known(key);
    // After a restart, the event that the message is about may be read before the request to send it again.
    const due = { ...queued, sinceMs: Math.max(queued.sinceMs, requestedAtMs) };
    if (refusal?.kind === 'finished') return afterRefusal(due, refusal);
    const to = channels.get(key.channel);
    if (!to) return giveUp(due, `there is no channel ${key.channel}`);
    if (timers.now() - due.sinceMs > retry.giveUpAfterMs) return giveUp(due, 'it was due too long ago');
    // A message that cannot be sent now uses nothing of the limits of its channel.
    if (refusal) return afterRefusal(due, refusal);
    const place = placed(due, to, isKnown, timers.now());
    if (place.kind === 'later') return { againAtMs: place.atMs };
    const permit = to.limit.take(timers.now());
    if (permit.kind === 'later') return { againAtMs: permit.atMs };
    try {
      return await begin(due, to, place.digest);
    } finally {
      to.limit.release();
    }
  };
};
