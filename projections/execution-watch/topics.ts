import { RpcError } from '../../services/kernel/rpc.js';
import type { SentAnswer } from './thread-messages.js';

/**
 * An answer in the linked list of a topic. Each watcher refers to the answer that it took last, so answers that all
 * watchers have taken are garbage-collected.
 */
type Link = { readonly answer: SentAnswer | undefined; readonly endBytes: number; next: Link | undefined };

/** One watcher of a topic. */
export interface Watcher {
  /**
   * The next answer; `undefined` when there is none yet.
   *
   * @throws {Error} when the topic has failed, or the watcher was too far behind.
   */
  next(): SentAnswer | undefined;
  /** Resolves with true when there may be an answer, or with false after `timeoutMs`. */
  changed(timeoutMs: number): Promise<boolean>;
  readonly wake: () => void;
  leave(): void;
}

/** The position of a watcher in the linked list. */
type WatcherPosition = { at: Link; failure: Error | undefined; wake: () => void };

type Topic = { tail: Link; readonly positions: Set<WatcherPosition> };

/** The topics of a process. */
export interface Topics {
  join(topic: string): Watcher;
  /** Adds answers for all watchers of a topic. A watcher that was more than `maxBehindBytes` behind is dropped. */
  publish(topic: string, answers: readonly SentAnswer[]): void;
  fail(topic: string, error: Error): void;
  failAll(error: Error): void;
}

/** The overhead of an answer in memory, without its data. */
const OVERHEAD_BYTES = 200;

const dropped = (bytes: number): RpcError =>
  new RpcError(
    'ABORTED',
    `dropped, because more than ${bytes} bytes of changes were not read: resume after the last position received`,
  );

const end = (topic: Topic, position: WatcherPosition, failure: Error): void => {
  topic.positions.delete(position);
  position.failure = failure;
  position.at = { ...position.at, next: undefined }; // releases the linked list
  position.wake();
};

const append = (topic: Topic, answer: SentAnswer): void => {
  const endBytes = topic.tail.endBytes + answer.data.length + OVERHEAD_BYTES;
  const link: Link = { answer, endBytes, next: undefined };
  topic.tail.next = link;
  topic.tail = link;
};

const dropLaggards = (topic: Topic, maxBytes: number): void => {
  for (const position of topic.positions)
    if (topic.tail.endBytes - position.at.endBytes > maxBytes) end(topic, position, dropped(maxBytes));
};

const changedAt = (position: WatcherPosition, timeoutMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    if (position.failure ?? position.at.next) {
      resolve(true);
      return;
    }
    const timer = setTimeout(() => resolve(false), timeoutMs);
    position.wake = () => {
      clearTimeout(timer);
      resolve(true);
    };
  });

const watcherAt = (position: WatcherPosition, leave: () => void): Watcher => ({
  next: () => {
    if (position.failure) throw position.failure;
    const { next } = position.at;
    if (next) position.at = next;
    return next?.answer;
  },
  changed: (timeoutMs) => changedAt(position, timeoutMs),
  wake: () => position.wake(),
  leave,
});

/** Opens the topics of a process. */
export const openTopics = (maxBehindBytes: number): Topics => {
  const topics = new Map<string, Topic>();

  const topicNamed = (name: string): Topic => {
    const begun = (): Topic => ({ tail: { answer: undefined, endBytes: 0, next: undefined }, positions: new Set() });
    const found = topics.get(name) ?? begun();
    topics.set(name, found);
    return found;
  };
  const fail = (name: string, error: Error): void => {
    const topic = topics.get(name);
    topics.delete(name);
    for (const position of topic?.positions ?? []) if (topic) end(topic, position, error);
  };

  return {
    join: (name) => {
      const topic = topicNamed(name);
      const position: WatcherPosition = { at: topic.tail, failure: undefined, wake: () => undefined };
      topic.positions.add(position);
      return watcherAt(position, () => {
        topic.positions.delete(position);
        if (topic.positions.size === 0 && topics.get(name) === topic) topics.delete(name);
      });
    },
    publish: (name, answers) => {
      const topic = topics.get(name);
      if (!topic) return;
      dropLaggards(topic, maxBehindBytes);
      for (const answer of answers) append(topic, answer);
      for (const position of topic.positions) position.wake();
    },
    fail,
    failAll: (error) => {
      for (const name of [...topics.keys()]) fail(name, error);
    },
  };
};
