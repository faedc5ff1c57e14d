import {
  HistoryEntity,
  HistoryService,
  type Transition,
  type TransitionList,
} from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { call } from '../../server/call.js';
import type { Named } from '../../server/ids.js';

const PAGE_TRANSITIONS = 1_000;

/**
 * The transitions of an execution that have been read, in the order in which they were recorded. The newest are read
 * first; `isWhole` is false as long as older ones are missing.
 */
export type ReadTransitions = { readonly transitions: readonly Transition[]; readonly isWhole: boolean };

const NONE: ReadTransitions = { transitions: [], isWhole: true };

const newestPage = (id: Named, token: string, signal: AbortSignal): Promise<TransitionList> =>
  call(HistoryService.method.listTransitions, { id, limit: PAGE_TRANSITIONS, token, newestFirst: true }, signal);

/**
 * Reads the transitions of an execution that are not known yet; a life that is not known as a whole is read again. For
 * such a life, `found` gets what has been read after the first page, and then whenever that has doubled, so that a long
 * life is shown while it is read. The whole life is returned, and not given to `found`.
 */
export const readLife = async (
  id: Named,
  known: ReadTransitions | undefined,
  { found, signal }: { readonly found: (life: ReadTransitions) => void; readonly signal: AbortSignal },
): Promise<ReadTransitions> => {
  const { transitions: before } = known?.isWhole === true ? known : NONE;
  const last = before.at(-1)?.position ?? -1n;
  let newer: readonly Transition[] = [];
  let token = '';
  let shown = 0;
  do {
    const page = await newestPage(id, token, signal);
    const unknown = page.transitions.filter(({ position }) => position > last);
    newer = [...unknown.reverse(), ...newer];
    token = unknown.length < page.transitions.length ? '' : page.token;
    // New transitions are not shown beside known ones before the gap between them is closed.
    if (before.length > 0 || token === '' || newer.length < 2 * shown) continue;
    shown = newer.length;
    found({ transitions: newer, isWhole: false });
  } while (token !== '');
  return { transitions: [...before, ...newer], isWhole: true };
};

/** The thing that changed, in words: `task of n0, attempt 2`. */
export const subjectOf = ({ entity, nodeId, attempt, signalId }: Transition): string => {
  if (entity === HistoryEntity.NODE) return `node ${nodeId}`;
  if (entity === HistoryEntity.TASK) return `task of ${nodeId}, attempt ${attempt + 1}`;
  return entity === HistoryEntity.SIGNAL ? `signal ${signalId}` : 'execution';
};
