import type { Watched } from '../../../projections/execution-watch/watched.js';
import type { WatchRequest } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { StreamName } from '../../kernel/stream.js';
import type { WatchFormat } from './messages.js';
import { subjectOf } from './subject.js';

/** An opened execution or list. */
export type Opened = Watched & {
  /** The only stream whose events it takes; absent when it takes events of all streams. */
  readonly stream?: StreamName;
};

/** An execution or list that has watchers; `formats` counts them by format. */
export type WatchedSubject = {
  readonly name: string;
  readonly opened: Opened;
  readonly formats: Map<WatchFormat, number>;
};

/** The watched executions and lists of a process, each opened once. */
export interface Subjects {
  /**
   * Adds a watcher, and opens what the request watches unless it is watched already.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the field.
   */
  enter(request: WatchRequest, format: WatchFormat): WatchedSubject;
  /** Removes a watcher, and the subject after its last. */
  leave(subject: WatchedSubject, format: WatchFormat): void;
  /** Lets the next watcher open the subject anew. */
  forget(subject: WatchedSubject): void;
  all(): readonly WatchedSubject[];
}

/** Makes an empty set of subjects; `open` opens the execution or list of a request. */
export const openSubjects = (open: (request: WatchRequest) => Opened): Subjects => {
  const subjects = new Map<string, WatchedSubject>();

  const forget = (subject: WatchedSubject): void => {
    if (subjects.get(subject.name) === subject) subjects.delete(subject.name);
  };

  return {
    enter: (request, format) => {
      const name = subjectOf(request);
      const subject = subjects.get(name) ?? { name, opened: open(request), formats: new Map<WatchFormat, number>() };
      subjects.set(name, subject);
      subject.formats.set(format, (subject.formats.get(format) ?? 0) + 1);
      return subject;
    },
    leave: (subject, format) => {
      const left = (subject.formats.get(format) ?? 0) - 1;
      if (left > 0) subject.formats.set(format, left);
      else subject.formats.delete(format);
      if (subject.formats.size === 0) forget(subject);
    },
    forget,
    all: () => [...subjects.values()],
  };
};
