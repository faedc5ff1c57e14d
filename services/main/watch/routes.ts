import { filterOf } from '../../../projections/execution-watch/watch-request.js';
import type { ReadList, Watches } from '../../../projections/execution-watch/watches.js';
import { matchingExecutions } from '../../../projections/executions/matching.js';
import type { ExecutionReads } from '../../../projections/query/execution-reads.js';
import { ExecutionWatchService } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { encodedEvent } from '../../gateway/rest/server-sent-events.js';
import { type Call, type FollowRoute, RpcError } from '../../kernel/rpc.js';

/** The sources of the state of lists. */
type ListReads = Pick<ExecutionReads, 'store' | 'freshness'>;

/** The event that tells a slow watcher why it is dropped: Server-Sent Events have no status at their end. */
const droppedEvent = (error: unknown): Uint8Array => {
  if (!(error instanceof RpcError) || error.code !== 'ABORTED') throw error;
  return encodedEvent({ type: 'dropped', data: JSON.stringify({ message: error.message }) });
};

/** Reads the lists of one call from views that have reached the position at which the changes begin. */
const listsFor =
  (reads: ListReads, call: Call): ReadList =>
  (request, minPosition) =>
    matchingExecutions(reads, filterOf(request), {
      principal: call.principal,
      requestId: call.requestId,
      isCancelled: () => call.isCancelled(),
      minPosition,
      answeredAt: () => undefined,
    });

/**
 * A watcher that reads nothing for this time, in milliseconds, is disconnected. One that was dropped and does not read
 * would otherwise keep its connection: it does not see the reason.
 */
const MAX_STALL_MS = 30_000;

/** The route of watches. */
export const watchRoutes = (watches: Watches, reads: ListReads): readonly FollowRoute[] => [
  {
    method: ExecutionWatchService.method.watch,
    takes: 'follow',
    maxStallMs: MAX_STALL_MS,
    async *follow(request, call, client) {
      try {
        for await (const { data } of watches.open(request, { ...client, readList: listsFor(reads, call) })) yield data;
      } catch (error) {
        if (client.form === 'messages') throw error;
        yield droppedEvent(error);
      }
    },
  },
];
