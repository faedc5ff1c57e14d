import { metadataOf, type RecordedEvent } from '../../kernel/event.js';
import { uuidText } from '../../reactors/export-to-kafka/cloud-event.js';

/** Formats one event for people and programs, as `log cat` prints it: one line of JSON, with its line break. */
export const lineOf = async (
  event: RecordedEvent,
  dataOf: (event: RecordedEvent) => Promise<Buffer>,
): Promise<string> => {
  const metadata = metadataOf(event);
  const line = JSON.stringify({
    position: Number(event.position),
    stream: event.stream,
    revision: Number(event.revision),
    type: event.type,
    id: uuidText(event.id),
    schema: metadata.schema,
    recordedAt: new Date(metadata.recordedAtMs).toISOString(),
    actor: metadata.actor,
    commandId: metadata.commandId,
    correlationId: metadata.$correlationId ?? '',
    causationId: metadata.$causationId ?? '',
    traceparent: metadata.traceparent ?? '',
  });
  return `${line.slice(0, -1)},"data":${(await dataOf(event)).toString()}}\n`;
};
