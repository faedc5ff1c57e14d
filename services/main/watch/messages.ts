import type { WatchResponse_Kind } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { MessagePort } from 'node:worker_threads';
import type { ViewsThreadData } from '../threads/views-thread.js';

/** The encoding of answers: as the data of a Server-Sent Event, or as the message of the interface. */
export type WatchFormat = 'json' | 'protobuf';

/** An answer, encoded for all watchers that want its format. */
export type SentAnswer = {
  readonly kind: WatchResponse_Kind;
  readonly position: bigint;
  readonly isWhole: boolean;
  readonly data: string | Uint8Array;
  /** The execution's stream, for a change of a list. */
  readonly of?: string;
};

/** A question to the thread: begin a watch, give more of what is first, or end the watch. */
export type WatchQuestion =
  | { readonly begin: number; readonly request: Uint8Array; readonly format: WatchFormat }
  | { readonly more: number }
  | { readonly leave: number };

/** The answer to the question: nothing to `leave`. */
export type WatchReply = {
  /** To `begin`: the answers of the topic after this position are not among what is first. */
  readonly position?: bigint;
  readonly isEnded?: boolean;
  /** To `more`. */
  readonly answers?: readonly SentAnswer[];
  readonly isLast?: boolean;
};

/** A message of the thread by itself: answers for all watchers of a topic, or why they end; how far the log was read. */
export type WatchMessage =
  | { readonly topic: string; readonly answers: readonly SentAnswer[] }
  | { readonly topic: string; readonly failure: string }
  | { readonly reached: bigint };

/** The worker data of the thread; it answers questions over the port. */
export type WatchThreadData = ViewsThreadData & { readonly questions: MessagePort };
