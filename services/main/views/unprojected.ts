import type { StoredDocument } from '../../../projections/runtime/read-store.js';
import type { UnprojectedEvents, WantedDocuments } from '../../../projections/runtime/unprojected-events.js';
import { RpcError } from '../../kernel/rpc.js';
import { threadCaller } from '../threads/thread-caller.js';
import type { ViewsThreadData } from './views-thread.js';

/** The number of reads that may wait for the thread; one more would wait longer than its caller does. */
const MAX_WAITING = 256;

/** Folds the events that are not yet projected on a thread of its own. */
export const unprojectedFolder = (data: ViewsThreadData): UnprojectedEvents & { close(): Promise<void> } => {
  const thread = threadCaller<WantedDocuments, readonly StoredDocument[]>({
    url: new URL('./unprojected-thread.js', import.meta.url),
    workerData: data,
    maxWaiting: MAX_WAITING,
    tooMany: () => new RpcError('UNAVAILABLE', 'read models are behind and the catch-up queue is full; retry later'),
  });
  return { fold: (wanted) => thread.ask(wanted), close: () => thread.close() };
};
