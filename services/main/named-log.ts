import type { EventLog } from '../kernel/ports/event-store.js';
import type { RecordedEvent } from '../kernel/event.js';
import { IDENTITY_STREAM } from '../kernel/ports/log-identity.js';
import type { StreamName } from '../kernel/stream.js';

const identityOf = ({ logId }: EventLog): RecordedEvent => ({
  stream: IDENTITY_STREAM as StreamName,
  revision: 0n,
  position: 0n,
  id: Buffer.alloc(16),
  type: 'LogStarted',
  data: Buffer.from(JSON.stringify({ logId })),
  metadata: JSON.stringify({ recordedAtMs: 0, actor: '', commandId: '', schema: 0, $custom: '', $isJson: true }),
});

/**
 * A log that tells its readers its name: an embedded log has it beside the events, so readers of the EventStoreDB
 * protocol find it in no stream, and may not write one.
 */
export const namedLog = (log: EventLog): EventLog => ({
  ...log,
  async *readStream(stream, options) {
    if (stream === IDENTITY_STREAM) yield [identityOf(log)];
    else yield* log.readStream(stream, options);
  },
});
