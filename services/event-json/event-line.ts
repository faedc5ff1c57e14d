import { metadataOfAny, type RecordedEvent } from '../kernel/event.js';
import { uuidText } from '../kernel/encoding/id-text.js';

/**
 * Formats one event for people and programs, as `log cat` prints it: one line of JSON, with its line break. An event of
 * another writer has no `recordedAt` when its metadata has no time.
 */
export const eventLine = async (
  event: RecordedEvent,
  dataOf: (event: RecordedEvent) => Promise<Buffer>,
): Promise<string> => {
  const { recordedAtMs, ...metadata } = metadataOfAny(event);
  const line = JSON.stringify({
    position: Number(event.position),
    stream: event.stream,
    revision: Number(event.revision),
    type: event.type,
    id: uuidText(event.id),
    schema: metadata.schema,
    recordedAt: recordedAtMs === undefined ? undefined : new Date(recordedAtMs).toISOString(),
    actor: metadata.actor,
    commandId: metadata.commandId,
    correlationId: metadata.$correlationId ?? '',
    causationId: metadata.$causationId ?? '',
    traceparent: metadata.traceparent ?? '',
  });
  return `${line.slice(0, -1)},"data":${(await dataOf(event)).toString()}}\n`;
};
