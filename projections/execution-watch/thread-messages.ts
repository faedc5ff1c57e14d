import type { WatchAnswer } from './answers.js';
import type { WatchResponse_Kind } from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { CrossingFault } from '../../services/kernel/crossing-faults.js';
import type { FollowForm } from '../../services/kernel/rpc.js';

/** A process has at most this many watchers. */
export const MAX_WATCHERS = 5_000;

/** An answer, encoded for all watchers that want its form. */
export type SentAnswer = {
  readonly kind: WatchResponse_Kind;
  readonly position: bigint;
  /** As it is sent. */
  readonly data: Uint8Array;
  /** The execution's stream, for a change of a list. */
  readonly stream?: string;
};

/** Encodes an answer as it is sent in a form. */
export type EncodeAnswer = (form: FollowForm, answer: WatchAnswer) => SentAnswer;

/** A question to the thread: begin a watch, give more of its first answers, or end the watch. */
export type WatchQuestion =
  | { readonly begin: number; readonly request: Uint8Array; readonly form: FollowForm }
  | { readonly more: number }
  | { readonly leave: number };

/** The reply to a question; empty to `leave`. */
export type WatchReply = {
  /** Reply to `begin`: the first answers lead to this position; the topic has the answers after it. */
  readonly position?: bigint;
  /** Reply to `begin`: the watched execution has ended. */
  readonly isEnded?: boolean;
  /** Reply to `more`. */
  readonly answers?: readonly SentAnswer[];
  /** Reply to `more`: these were the last of the first answers. */
  readonly isLast?: boolean;
};

/**
 * An unrequested message of the thread: answers or an error for all watchers of a topic, or the position up to which
 * the log was read.
 */
export type WatchMessage =
  | { readonly topic: string; readonly answers: readonly SentAnswer[] }
  | { readonly topic: string; readonly failure: CrossingFault }
  | { readonly reached: bigint };
