import { type TaskLog, TaskExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';

const ENDED: ReadonlySet<Phase> = new Set([Phase.SUCCEEDED, Phase.ABORTED, Phase.FAILED]);
const PENDING: ReadonlySet<Phase> = new Set([Phase.QUEUED, Phase.INITIALIZING]);

/**
 * Merges log links: the reported ones, then the known ones that they do not replace. A link is identified by its URI or
 * its name.
 */
export const mergedLogs = (known: readonly TaskLog[], reported: readonly TaskLog[]): TaskLog[] => {
  const uris = new Set(reported.map(({ uri }) => uri));
  const names = new Set(reported.map(({ name }) => name).filter((name) => name !== ''));
  return [...reported, ...known.filter(({ uri, name }) => !uris.has(uri) && !names.has(name))];
};

const isShown = ({ ShowWhilePending, HideOnceFinished }: TaskLog, phase: Phase): boolean => {
  if (ENDED.has(phase)) return !HideOnceFinished;
  return !PENDING.has(phase) || ShowWhilePending;
};

/** The links that are shown in a phase; the same list when all of them are shown. */
export const shownLogs = (logs: TaskLog[], phase: Phase): TaskLog[] =>
  logs.every((log) => isShown(log, phase)) ? logs : logs.filter((log) => isShown(log, phase));
