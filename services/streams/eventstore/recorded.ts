import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type ReadResp_ReadEvent_RecordedEventSchema,
  ReadRespSchema,
} from '../../../proto/gen/event_store/client/streams_pb.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { encodedMessage } from './codec.js';
import { propertiesOf } from './event-metadata.js';
import { type UuidForm, uuidOf } from './uuid.js';

/** The data of an event as clients get it, and whether it is JSON. */
export type EventData = { readonly data: Uint8Array; readonly isJson: boolean };

/** Converts the data of an event for clients: the stored bytes, or JSON for analysts. */
export type EventDataEncoder = (event: RecordedEvent) => EventData | Promise<EventData>;

/** Presents events as they were stored. */
export const storedForm: EventDataEncoder = (event) => ({ data: event.data, isJson: propertiesOf(event).isJson });

/** The protocol counts time in units of 100 ns. */
export const TICKS_IN_MS = 10_000n;

/** The content of one answer of a read. */
export type ReadContent = NonNullable<MessageInitShape<typeof ReadRespSchema>['content']>;

/** Encodes an answer of a read. */
export const encodedReadAnswer = (content: ReadContent): Buffer => encodedMessage(ReadRespSchema, { content });

/** Converts a log position to the two positions of the protocol, which are equal here. */
export const positionFields = (position: bigint): { commitPosition: bigint; preparePosition: bigint } => ({
  commitPosition: position,
  preparePosition: position,
});

/** The time of an event in the protocol: units of 100 ns since 1970. */
export const createdText = (recordedAtMs: number): string => String(BigInt(Math.trunc(recordedAtMs)) * TICKS_IN_MS);

/** An event in the protocol, with its position. */
type ProtocolEvent = {
  readonly event: MessageInitShape<typeof ReadResp_ReadEvent_RecordedEventSchema>;
  readonly position: { readonly case: 'commitPosition'; readonly value: bigint };
};

/** Converts an event to its form in the protocol. */
export const protocolEvent = async (
  event: RecordedEvent,
  form: UuidForm,
  present: EventDataEncoder,
): Promise<ProtocolEvent> => {
  const { data, isJson } = await present(event);
  const { custom, recordedAtMs } = propertiesOf(event);
  const recorded = {
    id: uuidOf(event.id, form),
    streamIdentifier: { streamName: Buffer.from(event.stream) },
    streamRevision: event.revision,
    ...positionFields(event.position),
    metadata: {
      type: event.type,
      created: createdText(recordedAtMs),
      'content-type': isJson ? 'application/json' : 'application/octet-stream',
    },
    customMetadata: custom,
    data,
  };
  return { event: recorded, position: { case: 'commitPosition', value: event.position } };
};
