import type { MessageInitShape } from '@bufbuild/protobuf';
import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { RecordedEvent } from '../../kernel/event.js';
import { encodedAs } from './codec.js';
import { besideOf } from './event-metadata.js';
import { type UuidForm, uuidOf } from './uuid.js';

/** What a reader gets for an event's data, and whether it is JSON. */
export type Presented = { readonly data: Uint8Array; readonly isJson: boolean };

/** Turns an event into what readers get: the stored bytes, or JSON for analysts. */
export type Present = (event: RecordedEvent) => Presented | Promise<Presented>;

/** Events go out as they were stored. */
export const asStored: Present = (event) => ({ data: event.data, isJson: besideOf(event).isJson });

const TICKS_IN_MS = 10_000n;

/** One answer of a read, by its case. */
export type ReadContent = NonNullable<MessageInitShape<typeof ReadRespSchema>['content']>;

/** An answer of a read, as bytes. */
export const encoded = (content: ReadContent): Buffer => encodedAs(ReadRespSchema, { content });

/** A place in the log, as the protocol has it: two numbers that are one here. */
export const placeOf = (position: bigint): { commitPosition: bigint; preparePosition: bigint } => ({
  commitPosition: position,
  preparePosition: position,
});

/** An event as the answer of a read. */
export const eventContent = async (event: RecordedEvent, form: UuidForm, present: Present): Promise<ReadContent> => {
  const { data, isJson } = await present(event);
  const { custom, recordedAtMs } = besideOf(event);
  const recorded = {
    id: uuidOf(event.id, form),
    streamIdentifier: { streamName: Buffer.from(event.stream) },
    streamRevision: event.revision,
    ...placeOf(event.position),
    metadata: {
      type: event.type,
      created: String(BigInt(Math.trunc(recordedAtMs)) * TICKS_IN_MS),
      'content-type': isJson ? 'application/json' : 'application/octet-stream',
    },
    customMetadata: custom,
    data,
  };
  return {
    case: 'event',
    value: { event: recorded, position: { case: 'commitPosition', value: event.position } },
  };
};
