import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { MessageKey } from '../../notification/commands.js';
import type { MessageContent } from './message-content.js';

/** The limits above which messages about failures of one launch plan to one recipient are joined. */
export type DigestLimits = {
  /** Messages within `windowMs` that are sent by themselves; 0: none is joined. */
  readonly after: number;
  /** Time in milliseconds for which further ones are collected. */
  readonly windowMs: number;
};

/** A message that has not been tried: send it, look at it again later, or send it for `digest` as well. */
export type Placed =
  | { readonly kind: 'send'; readonly digest: readonly MessageKey[] }
  | { readonly kind: 'later'; readonly atMs: number };

/** Joins messages about failures. The messages that wait are unfinished work: after a restart they are read again. */
export interface Digests {
  /** Decides whether a message that was never tried is sent by itself, waits, or is sent as a digest. */
  place(key: MessageKey, content: MessageContent, nowMs: number): Placed;
  /**
   * Forgets a digest: the messages that it stands for have their outcome, or it is not sent. Those without an outcome
   * are placed again.
   */
  forget(digestId: string): void;
}

/** The most messages that one digest stands for: all of them are in one event. */
const MAX_MEMBERS = 500;
/** Time from the end of a window until its messages are looked at again, in milliseconds. */
const AFTER_MS = 1_000;

const FAILED: readonly Phase[] = [Phase.FAILED, Phase.TIMED_OUT];

/** A message that stands for others: they are collected, and then it is sent. */
type Digest = {
  readonly id: string;
  readonly untilMs: number;
  readonly members: Map<string, MessageKey>;
  isClosed: boolean;
};

/** The messages to one recipient about one launch plan. */
type Group = {
  /** The messages that were sent by themselves within the window, each with its time in milliseconds since 1970. */
  readonly sentMs: Map<string, number>;
  /** The digest that is being collected; empty without one. */
  digestId: string;
  /** Until this time, in milliseconds since 1970, no message is sent by itself: the next one begins a digest. */
  busyUntilMs: number;
};

const groupKey = ({ channel, recipient }: MessageKey, { launchPlan, workflow }: MessageContent): string => {
  const { project, domain, name } = launchPlan ?? workflow ?? { project: '', domain: '', name: '' };
  return JSON.stringify([channel, recipient, project, domain, name]);
};

const SEND: Placed = { kind: 'send', digest: [] };
const sendFor = ({ members }: Digest): Placed => ({ kind: 'send', digest: [...members.values()] });
const later = (atMs: number): Placed => ({ kind: 'later', atMs });

/** Makes the digests of a channel in this process. Where another process takes over, it counts from the beginning. */
export const openDigests = ({ after, windowMs }: DigestLimits): Digests => {
  const groups = new Map<string, Group>();
  /** The digests that are not forgotten yet, by the ids of the messages that stand for the others. */
  const digests = new Map<string, Digest>();
  const state = { tidyAtMs: 0 };

  const isInClosed = (id: string): boolean =>
    [...digests.values()].some(({ isClosed, members }) => isClosed && members.has(id));

  const groupOf = (name: string, nowMs: number): Group => {
    const group = groups.get(name) ?? { sentMs: new Map<string, number>(), digestId: '', busyUntilMs: 0 };
    for (const [id, sentMs] of group.sentMs) if (nowMs - sentMs >= windowMs) group.sentMs.delete(id);
    groups.set(name, group);
    return group;
  };

  /** Forgets groups that have had no message for long. */
  const tidy = (nowMs: number): void => {
    if (nowMs < state.tidyAtMs) return;
    state.tidyAtMs = nowMs + windowMs;
    for (const name of [...groups.keys()]) {
      const { sentMs, digestId, busyUntilMs } = groupOf(name, nowMs);
      if (sentMs.size === 0 && busyUntilMs <= nowMs && !digests.has(digestId)) groups.delete(name);
    }
  };

  const close = (digest: Digest, group: Group, nowMs: number): Placed => {
    digest.isClosed = true;
    group.digestId = '';
    // The launch plan may go on failing.
    group.busyUntilMs = nowMs + windowMs;
    return sendFor(digest);
  };

  const collect = (digest: Digest, group: Group, key: MessageKey, nowMs: number): Placed => {
    const { id, untilMs, members } = digest;
    if (key.id === id) return nowMs < untilMs ? later(untilMs) : close(digest, group, nowMs);
    if (members.size < MAX_MEMBERS) members.set(key.id, key);
    return later(Math.max(untilMs, nowMs) + AFTER_MS);
  };

  const begin = (group: Group, { id }: MessageKey, nowMs: number): Placed => {
    if (group.sentMs.size < after && group.busyUntilMs <= nowMs) {
      group.sentMs.set(id, nowMs);
      return SEND;
    }
    const untilMs = nowMs + windowMs;
    group.digestId = id;
    digests.set(id, { id, untilMs, members: new Map(), isClosed: false });
    return later(untilMs);
  };

  return {
    place: (key, content, nowMs) => {
      const ownDigest = digests.get(key.id);
      if (ownDigest?.isClosed === true) return sendFor(ownDigest);
      if (after === 0 || !FAILED.includes(content.phase)) return SEND;
      if (isInClosed(key.id)) return later(nowMs + AFTER_MS);
      tidy(nowMs);
      const group = groupOf(groupKey(key, content), nowMs);
      // It may have had to wait for the limit of its channel.
      if (group.sentMs.has(key.id)) return SEND;
      const digest = digests.get(group.digestId);
      return digest ? collect(digest, group, key, nowMs) : begin(group, key, nowMs);
    },
    forget: (digestId) => void digests.delete(digestId),
  };
};
