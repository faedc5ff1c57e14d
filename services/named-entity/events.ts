import {
  type NamedEntityUpdated,
  NamedEntityUpdatedSchema,
} from '../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import type { EntityName } from '../kernel/values/entity-name.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `namedEntity-{project}:{domain}:{kind}:{name}`. */
export const NAMED_ENTITY_CATEGORY = 'namedEntity';

export type NamedEntityEvent = { readonly type: 'NamedEntityUpdated'; readonly data: NamedEntityUpdated };

export const namedEntityStream = ({ kind, project, domain, name }: EntityName): StreamName =>
  streamName(NAMED_ENTITY_CATEGORY, [project, domain, kind, name]);

export const namedEntityCodec = messageCodec<NamedEntityEvent>({
  NamedEntityUpdated: eventShape(NamedEntityUpdatedSchema),
});
