import {
  type AttributesDeleted,
  AttributesDeletedSchema,
  type AttributesUpdated,
  AttributesUpdatedSchema,
} from '../../proto/gen/platformidl/eventlog/attributes_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `attributes-{project}`. */
export const ATTRIBUTES_CATEGORY = 'attributes';

export type AttributesEvent =
  | { readonly type: 'AttributesUpdated'; readonly data: AttributesUpdated }
  | { readonly type: 'AttributesDeleted'; readonly data: AttributesDeleted };

export const attributesStream = (project: string): StreamName => streamName(ATTRIBUTES_CATEGORY, [project]);

export const attributesCodec = messageCodec<AttributesEvent>({
  AttributesUpdated: eventShape(AttributesUpdatedSchema),
  AttributesDeleted: eventShape(AttributesDeletedSchema),
});
