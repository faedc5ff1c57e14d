import type { EventLog } from '../../kernel/ports/event-store.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { IDENTITY_STREAM } from '../../kernel/ports/log-identity.js';
import type { StreamName } from '../../kernel/stream.js';

const identityOf = ({ logId, copyOf }: EventLog): RecordedEvent => ({
  stream: IDENTITY_STREAM as StreamName,
  revision: 0n,
  position: 0n,
  id: Buffer.alloc(16),
  type: 'LogStarted',
  data: Buffer.from(JSON.stringify({ logId, copyOf })),
  metadata: JSON.stringify({ recordedAtMs: 0, actor: '', commandId: '', schema: 0, $custom: '', $isJson: true }),
});

/**
 * Adds the stream {@link IDENTITY_STREAM} to a log. Its one event has the id of the log, and that of the original when
 * the log is a copy. An embedded log keeps its id beside the events, so clients of the EventStoreDB protocol would find
 * it in no stream, and they may not write one. In an event store, which has such a stream, this one is read instead.
 */
export const namedLog = (log: EventLog): EventLog => ({
  ...log,
  async *readStream(stream, options = {}) {
    if (stream !== IDENTITY_STREAM) yield* log.readStream(stream, options);
    else if (options.direction === 'backwards' || (options.from ?? 0n) === 0n) yield [identityOf(log)];
  },
});
