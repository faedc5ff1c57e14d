import { matchingExecutions } from '../../../projections/executions/matching.js';
import type { ExecutionReads } from '../../../projections/executions/reads.js';
import { ExecutionWatchService, WatchResponse_Kind as Kind } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { type Call, RpcError, type ServerSentEvent, type StreamRoute } from '../../kernel/rpc.js';
import type { SentAnswer } from './messages.js';
import { filterOf } from './subject.js';
import type { WatchOptions, ReadList, Watches } from './watches.js';

/** The sources of the state of lists. */
type ListReads = Pick<ExecutionReads, 'store' | 'freshness'>;

const asEvent = ({ kind, position, isWhole, data }: SentAnswer): ServerSentEvent => ({
  // An incomplete answer has no id, so that a client does not resume in the middle of a state.
  ...(isWhole && { id: position.toString() }),
  type: Kind[kind].toLowerCase(),
  data: data as string,
});

/** The event that tells a slow watcher why it is dropped: Server-Sent Events have no status at their end. */
const droppedEvent = (error: unknown): ServerSentEvent => {
  if (!(error instanceof RpcError) || error.code !== 'ABORTED') throw error;
  return { type: 'dropped', data: JSON.stringify({ message: error.message }) };
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
export const watchRoutes = (watches: Watches, reads: ListReads): readonly StreamRoute[] => [
  {
    method: ExecutionWatchService.method.watch,
    takes: 'stream',
    maxStallMs: MAX_STALL_MS,
    async *open(requests, call, signal) {
      const asked: WatchOptions = { format: 'protobuf', signal, readList: listsFor(reads, call) };
      for await (const request of requests)
        for await (const { data } of watches.open(request, asked)) yield data as Uint8Array;
    },
    async *events(request, call, signal) {
      const asked: WatchOptions = { format: 'json', signal, readList: listsFor(reads, call) };
      try {
        for await (const answer of watches.open(request, asked)) yield asEvent(answer);
      } catch (error) {
        yield droppedEvent(error);
      }
    },
  },
];
