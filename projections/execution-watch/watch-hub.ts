import { fromBinary } from '@bufbuild/protobuf';
import type { WatchAnswer } from './answers.js';
import { type WatchRequest, WatchRequestSchema } from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import { crossingOf } from '../../services/kernel/crossing-faults.js';
import { Fault } from '../../services/kernel/fault.js';
import type { LogPage } from '../../services/kernel/ports/event-store.js';
import type { FollowForm } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { EncodeAnswer, SentAnswer, WatchMessage, WatchQuestion, WatchReply } from './thread-messages.js';
import { afterOf, topicOf } from './watch-request.js';
import { type Opened, openSubjects, type WatchedSubject, type Subjects } from './subjects.js';

/**
 * Answers the questions of watchers about all watched executions and lists, and feeds these with the events of the log.
 */
export interface WatchHub {
  /**
   * @throws {RpcError} INVALID_ARGUMENT naming the field of the request; as `WatchHubOptions.reach`.
   * @throws {RpcError} or {Fault} as `Watched.begin`.
   */
  readonly answer: (question: WatchQuestion) => Promise<WatchReply>;
  /** Takes the next page of the log. */
  readonly onPage: (page: LogPage) => Promise<void>;
}

type Reader = {
  readonly subject: WatchedSubject;
  readonly form: FollowForm;
  readonly first: Iterator<WatchAnswer, void> | AsyncIterator<WatchAnswer, void>;
};

/** The most answers of one reply to `more`. */
const MAX_ANSWERS = 16;

const iteratorOf = (first: AsyncIterable<WatchAnswer, void> | Iterable<WatchAnswer, void>): Reader['first'] =>
  Symbol.asyncIterator in first ? first[Symbol.asyncIterator]() : first[Symbol.iterator]();

/** The functions that connect the hub with the log and with the watchers. */
export type WatchHubOptions = {
  /** Opens the execution that a request names, or the list that it describes. */
  readonly open: (request: WatchRequest) => Opened;
  /**
   * Waits until the log is read up to the position after which a watch continues.
   *
   * @throws {RpcError} UNAVAILABLE when the log still ends before that position after a while.
   */
  readonly reach: (position: bigint) => Promise<void>;
  readonly encode: EncodeAnswer;
  /** Sends a message to the watchers. */
  readonly send: (message: WatchMessage) => void;
};

/** The watchers, each with its first answers, until it leaves. */
const openReaders = (subjects: Subjects, { reach, encode }: Pick<WatchHubOptions, 'reach' | 'encode'>) => {
  const readers = new Map<number, Reader>();

  const begin = async (id: number, encoded: Uint8Array, form: FollowForm): Promise<WatchReply> => {
    const request = fromBinary(WatchRequestSchema, encoded);
    const after = afterOf(request);
    if (after !== undefined) await reach(after);
    const subject = subjects.enter(request, form);
    try {
      const { position, isEnded, first } = await subject.opened.begin(after);
      readers.set(id, { subject, form, first: iteratorOf(first) });
      return { position, isEnded };
    } catch (error) {
      subjects.leave(subject, form);
      throw error;
    }
  };
  const more = async (id: number): Promise<WatchReply> => {
    const reader = readers.get(id);
    const answers: SentAnswer[] = [];
    while (reader && answers.length < MAX_ANSWERS) {
      const next = await reader.first.next();
      if (next.done === true) return { answers, isLast: true };
      answers.push(encode(reader.form, next.value));
    }
    return { answers, isLast: reader === undefined };
  };
  const leave = (id: number): WatchReply => {
    const reader = readers.get(id);
    readers.delete(id);
    if (!reader) return {};
    void reader.first.return?.();
    subjects.leave(reader.subject, reader.form);
    return {};
  };
  return { begin, more, leave };
};

const byStream = (events: readonly RecordedEvent[]): ReadonlyMap<StreamName, readonly RecordedEvent[]> => {
  const groups = new Map<StreamName, RecordedEvent[]>();
  for (const event of events) {
    const group = groups.get(event.stream);
    if (group) group.push(event);
    else groups.set(event.stream, [event]);
  }
  return groups;
};

/** Opens the hub, which has no watches at first. */
export const openWatchHub = ({ open, reach, encode, send }: WatchHubOptions): WatchHub => {
  const subjects = openSubjects(open);
  const readers = openReaders(subjects, { reach, encode });

  const publish = ({ name, forms }: WatchedSubject, answers: readonly WatchAnswer[]): void => {
    if (answers.length === 0) return;
    for (const form of forms.keys())
      send({ topic: topicOf(name, form), answers: answers.map((each) => encode(form, each)) });
  };
  /** Ends a failed subject for all its watchers; the next watcher opens it again. */
  const fail = (subject: WatchedSubject, error: unknown): void => {
    if (!(error instanceof Fault)) throw error;
    subjects.forget(subject);
    for (const form of subject.forms.keys()) send({ topic: topicOf(subject.name, form), failure: crossingOf(error) });
  };
  const feed = async (subject: WatchedSubject, events: readonly RecordedEvent[]): Promise<void> => {
    try {
      for (const event of events) publish(subject, await subject.opened.fold(event));
    } catch (error) {
      fail(subject, error);
    }
  };

  return {
    answer: async (question) => {
      if ('begin' in question) return readers.begin(question.begin, question.request, question.form);
      return 'more' in question ? readers.more(question.more) : readers.leave(question.leave);
    },
    onPage: async ({ events, position }) => {
      const grouped = byStream(events);
      const eventsFor = ({ opened: { stream } }: WatchedSubject): readonly RecordedEvent[] =>
        stream === undefined ? events : (grouped.get(stream) ?? []);
      await Promise.all(subjects.all().map((subject) => feed(subject, eventsFor(subject))));
      send({ reached: position });
    },
  };
};
