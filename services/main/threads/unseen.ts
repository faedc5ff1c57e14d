import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import type { UnseenEvents, Wanted } from '../../../projections/runtime/unseen.js';
import { RpcError } from '../../kernel/rpc.js';
import { threadCaller } from './thread-caller.js';
import type { ViewsThreadData } from './views-thread.js';

/** Reads that may wait for the thread; one more would wait for longer than its caller does. */
const MAX_WAITING = 256;

/** Has what the views have not seen folded on a thread of its own. */
export const unseenFolder = (data: ViewsThreadData): UnseenEvents & { close(): Promise<void> } => {
  const thread = threadCaller<Wanted, readonly StoredDocument[]>({
    url: new URL('./unseen-thread.js', import.meta.url),
    workerData: data,
    maxWaiting: MAX_WAITING,
    tooMany: () => new RpcError('UNAVAILABLE', 'the views are behind, and too many reads wait for what they lack'),
  });
  return { fold: (wanted) => thread.ask(wanted), close: () => thread.close() };
};
