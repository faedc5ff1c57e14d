import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { MessageKey } from '../../notification/commands.js';
import type { MessageContent } from './message-content.js';

/** When messages about failures of one launch plan are joined. */
export type DigestLimits = {
  /** Messages to one recipient within `windowMs` that are sent by themselves; 0: none is joined. */
  readonly after: number;
  /** Time in milliseconds for which further ones are collected. */
  readonly windowMs: number;
};

/** A message that has not been tried: send it, look at it again later, or send it for `digest` as well. */
export type Placed =
  { readonly kind: 'send'; readonly digest: readonly MessageKey[] } | { readonly kind: 'later'; readonly atMs: number };

/** Joins messages about failures. The messages that wait are unfinished work: after a restart they are read again. */
export interface Digests {
  place(key: MessageKey, content: MessageContent, nowMs: number): Placed;
  /** The messages that a digest stands for have their outcome, or the digest is not sent. */
  settled(digestId: string): void;
}

/** The most messages that one stands for: they are all in one event. */
const MAX_MEMBERS = 500;
/** Time from the end of a window until its messages are looked at again, in milliseconds. */
const AFTER_MS = 1_000;

const FAILED: readonly Phase[] = [Phase.FAILED, Phase.TIMED_OUT];

type Collecting = { readonly id: string; readonly untilMs: number; readonly members: Map<string, MessageKey> };

/** The messages to one recipient about one launch plan: when the last ones went out by themselves, and those collected. */
type Group = { sentMs: readonly number[]; collecting: Collecting | undefined };

const groupKey = ({ channel, recipient }: MessageKey, { launchPlan, workflow }: MessageContent): string => {
  const { project, domain, name } = launchPlan ?? workflow ?? { project: '', domain: '', name: '' };
  return JSON.stringify([channel, recipient, project, domain, name]);
};

const SEND: Placed = { kind: 'send', digest: [] };
const later = (atMs: number): Placed => ({ kind: 'later', atMs });

/** Makes the digests of a process. Where another process takes over, it counts from the beginning. */
export const openDigests = ({ after, windowMs }: DigestLimits): Digests => {
  const groups = new Map<string, Group>();
  /** Digests that are being sent, by their ids, and the messages that they stand for. */
  const closed = new Map<string, Collecting>();

  const isClosed = (id: string): boolean => [...closed.values()].some(({ members }) => members.has(id));

  const groupOf = (name: string, nowMs: number): Group => {
    const group = groups.get(name) ?? { sentMs: [], collecting: undefined };
    group.sentMs = group.sentMs.filter((sentMs) => nowMs - sentMs < windowMs);
    groups.set(name, group);
    return group;
  };

  /** Forgets groups that have had no message for long. */
  const tidy = (nowMs: number): void => {
    for (const [name, { sentMs, collecting }] of groups)
      if (!collecting && nowMs - (sentMs.at(-1) ?? 0) >= windowMs) groups.delete(name);
  };

  const collect = (collecting: Collecting, group: Group, key: MessageKey, nowMs: number): Placed => {
    const { id, untilMs, members } = collecting;
    if (key.id !== id) {
      if (members.size < MAX_MEMBERS || members.has(key.id)) members.set(key.id, key);
      return later(Math.max(untilMs, nowMs) + AFTER_MS);
    }
    if (nowMs < untilMs) return later(untilMs);
    group.collecting = undefined;
    // While the launch plan goes on failing, further messages are collected at once.
    group.sentMs = Array.from({ length: after }, () => nowMs);
    closed.set(id, collecting);
    return { kind: 'send', digest: [...members.values()] };
  };

  const begin = (group: Group, key: MessageKey, nowMs: number): Placed => {
    if (group.sentMs.length < after) {
      group.sentMs = [...group.sentMs, nowMs];
      return SEND;
    }
    group.collecting = { id: key.id, untilMs: nowMs + windowMs, members: new Map() };
    return later(nowMs + windowMs);
  };

  return {
    place: (key, content, nowMs) => {
      const own = closed.get(key.id);
      if (own) return { kind: 'send', digest: [...own.members.values()] };
      if (after === 0 || !FAILED.includes(content.phase)) return SEND;
      if (isClosed(key.id)) return later(nowMs + AFTER_MS);
      if (groups.size > MAX_MEMBERS) tidy(nowMs);
      const group = groupOf(groupKey(key, content), nowMs);
      return group.collecting ? collect(group.collecting, group, key, nowMs) : begin(group, key, nowMs);
    },
    settled: (digestId) => void closed.delete(digestId),
  };
};
