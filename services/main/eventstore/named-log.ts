import { randomBytes } from 'node:crypto';
import type { EventLog, EventStore } from '../../kernel/ports/event-store.js';
import type { NewEvent, RecordedEvent } from '../../kernel/event.js';
import { IDENTITY_STREAM } from '../../kernel/ports/log-identity.js';
import type { StreamName } from '../../kernel/stream.js';

const STREAM = IDENTITY_STREAM as StreamName;

const identityEvent = (
  { logId, copyOf }: EventLog,
  { type, id, recordedAtMs }: Pick<NewEvent, 'type' | 'id'> & { readonly recordedAtMs: number },
): NewEvent => ({
  ...{ type, id },
  data: Buffer.from(JSON.stringify({ logId, copyOf })),
  metadata: JSON.stringify({ recordedAtMs, actor: '', commandId: '', schema: 0, $custom: '', $isJson: true }),
});

const ID_BYTES = 16;

const identityOf = (log: EventLog): RecordedEvent => ({
  ...identityEvent(log, { type: 'LogStarted', id: Buffer.alloc(ID_BYTES), recordedAtMs: 0 }),
  stream: STREAM,
  revision: 0n,
  position: 0n,
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

/**
 * Records in {@link IDENTITY_STREAM} that an embedded log is a copy, for control planes that use it over the
 * EventStoreDB protocol. Nothing is recorded where the stream has events: they say whether the log is a copy still.
 */
export const recordCopy = async (store: EventStore, nowMs: number): Promise<void> => {
  if (store.copyOf === undefined) return;
  for await (const events of store.readStream(STREAM)) if (events.length > 0) return;
  const event = identityEvent(store, { type: 'LogCopied', id: randomBytes(ID_BYTES), recordedAtMs: nowMs });
  await store.append(STREAM, 'no-stream', [event]);
};
