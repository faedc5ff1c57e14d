import { ExecutionWatchService, WatchResponse_Kind as Kind } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { RpcError, type ServerSentEvent, type StreamRoute } from '../../kernel/rpc.js';
import type { SentAnswer } from './messages.js';
import type { Watches } from './watches.js';

const asEvent = ({ kind, position, isWhole, data }: SentAnswer): ServerSentEvent => ({
  // Without an id, a client that connects again does not go on in the middle of a state.
  ...(isWhole && { id: position.toString() }),
  type: Kind[kind].toLowerCase(),
  data: data as string,
});

/** Says over Server-Sent Events, which have no status at their end, why a slow watcher is dropped. */
const droppedEvent = (error: unknown): ServerSentEvent => {
  if (!(error instanceof RpcError) || error.code !== 'ABORTED') throw error;
  return { type: 'dropped', data: JSON.stringify({ message: error.message }) };
};

/** The route of watches. */
export const watchRoutes = (watches: Watches): readonly StreamRoute[] => [
  {
    method: ExecutionWatchService.method.watch,
    takes: 'stream',
    async *open(requests, _call, signal) {
      for await (const request of requests)
        for await (const { data } of watches.open(request, 'protobuf', signal)) yield data as Uint8Array;
    },
    async *events(request, _call, signal) {
      try {
        for await (const answer of watches.open(request, 'json', signal)) yield asEvent(answer);
      } catch (error) {
        yield droppedEvent(error);
      }
    },
  },
];
