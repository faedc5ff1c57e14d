import { HistoryEntity, HistoryService, type Transition } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { call } from '../../server/call.js';
import type { Named } from '../../server/ids.js';
import { allPages } from '../../server/pages.js';

const PAGE_TRANSITIONS = 1_000;

/** Reads every transition of an execution, in the order in which they were recorded. */
export const readTransitions = (id: Named, signal: AbortSignal): Promise<readonly Transition[]> =>
  allPages(
    (token) => call(HistoryService.method.listTransitions, { id, limit: PAGE_TRANSITIONS, token }, signal),
    ({ transitions }) => transitions,
  );

/** The thing that changed, in words: `task of n0, attempt 2`. */
export const subjectOf = ({ entity, nodeId, attempt, signalId }: Transition): string => {
  if (entity === HistoryEntity.NODE) return `node ${nodeId}`;
  if (entity === HistoryEntity.TASK) return `task of ${nodeId}, attempt ${attempt + 1}`;
  return entity === HistoryEntity.SIGNAL ? `signal ${signalId}` : 'execution';
};
