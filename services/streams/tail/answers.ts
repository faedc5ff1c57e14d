import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type TailEvent,
  TailEventSchema,
  type TailResponse,
  TailResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { uuidText } from '../../kernel/encoding/id-text.js';
import { metadataOfAny, type RecordedEvent } from '../../kernel/event.js';

/** The answer with an event; `data` is its content in the format of the consumer. */
export const tailEventAnswer = (event: RecordedEvent, data: TailEvent['data']): TailResponse => {
  const { recordedAtMs, actor, $correlationId } = metadataOfAny(event);
  return create(TailResponseSchema, {
    position: event.position,
    event: create(TailEventSchema, {
      stream: event.stream,
      revision: event.revision,
      type: event.type,
      id: uuidText(event.id),
      ...(recordedAtMs !== undefined && { recordedAt: timestampFromMs(recordedAtMs) }),
      actor: actor ?? '',
      requestId: $correlationId ?? '',
      data,
    }),
  });
};

/** The answer with the position up to which the log was read. */
export const checkpointAnswer = (position: bigint): TailResponse => create(TailResponseSchema, { position });
