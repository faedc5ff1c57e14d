import type { Watched } from './watched.js';
import type { WatchRequest } from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import type { FollowForm } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { subjectOf } from './watch-request.js';

/** An opened execution or list. */
export type Opened = Watched & {
  /** The only stream whose events it takes; absent when it takes events of all streams. */
  readonly stream?: StreamName;
};

/** An execution or list that has watchers; `forms` counts them by form. */
export type WatchedSubject = {
  readonly name: string;
  readonly opened: Opened;
  readonly forms: Map<FollowForm, number>;
};

/** The watched executions and lists of a process, each opened once. */
export interface Subjects {
  /**
   * Adds a watcher, and opens what the request watches unless it is watched already.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the field.
   */
  enter(request: WatchRequest, form: FollowForm): WatchedSubject;
  /** Removes a watcher, and the subject after its last. */
  leave(subject: WatchedSubject, form: FollowForm): void;
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
    enter: (request, form) => {
      const name = subjectOf(request);
      const subject = subjects.get(name) ?? { name, opened: open(request), forms: new Map<FollowForm, number>() };
      subjects.set(name, subject);
      subject.forms.set(form, (subject.forms.get(form) ?? 0) + 1);
      return subject;
    },
    leave: (subject, form) => {
      const left = (subject.forms.get(form) ?? 0) - 1;
      if (left > 0) subject.forms.set(form, left);
      else subject.forms.delete(form);
      if (subject.forms.size === 0) forget(subject);
    },
    forget,
    all: () => [...subjects.values()],
  };
};
