import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import { EmptySchema, type UUID, type UUIDSchema } from '../../../proto/gen/event_store/client/values_pb.js';
import type { Stored } from './log-file.js';

/** The value of options that only need to be set. */
export const empty = create(EmptySchema);

/** Encodes a message. */
export const encoded = <Desc extends DescMessage>(schema: Desc, message: MessageInitShape<Desc>): Buffer =>
  Buffer.from(toBinary(schema, create(schema, message)));

/** Decodes a message. */
export const decoded = fromBinary;

/** The wire form of an id: two 64-bit integers, or a text. */
export type IdForm = 'structured' | 'string';

/** The 16 bytes of an id in either of its wire forms. */
export const idBytes = (id: UUID | undefined): Buffer => {
  const value = id?.value;
  if (value?.case !== 'structured') return Buffer.from((value?.value ?? '').replaceAll('-', ''), 'hex');
  const bytes = Buffer.alloc(16);
  bytes.writeBigInt64BE(value.value.mostSignificantBits, 0);
  bytes.writeBigInt64BE(value.value.leastSignificantBits, 8);
  return bytes;
};

const dashed = (id: Buffer): string => id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');

/** The message for the 16 bytes of an id. */
export const idMessage = (id: Buffer, form: IdForm): MessageInitShape<typeof UUIDSchema> =>
  form === 'string'
    ? { value: { case: 'string', value: dashed(id) } }
    : {
        value: {
          case: 'structured',
          value: { mostSignificantBits: id.readBigInt64BE(0), leastSignificantBits: id.readBigInt64BE(8) },
        },
      };

/** The two numbers of a position, which are equal in this server. */
export const positionFields = (position: bigint): { commitPosition: bigint; preparePosition: bigint } => ({
  commitPosition: position,
  preparePosition: position,
});

export const streamIdentifier = (stream: string): { streamName: Uint8Array } => ({ streamName: Buffer.from(stream) });

/** Encodes one answer of a read. */
export const answer = (content: NonNullable<MessageInitShape<typeof ReadRespSchema>['content']>): Buffer =>
  encoded(ReadRespSchema, { content });

/** Encodes an event as an answer of a read; times are in units of 100 ns. */
export const eventAnswer = (event: Stored, form: IdForm): Buffer =>
  answer({
    case: 'event',
    value: {
      event: {
        id: idMessage(event.id, form),
        streamIdentifier: streamIdentifier(event.stream),
        streamRevision: event.revision,
        ...positionFields(event.position),
        metadata: {
          type: event.type,
          created: String(BigInt(event.createdMs) * 10_000n),
          'content-type': event.isJson ? 'application/json' : 'application/octet-stream',
        },
        customMetadata: event.metadata,
        data: event.data,
      },
      position: { case: 'commitPosition', value: event.position },
    },
  });
