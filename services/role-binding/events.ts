import {
  type RoleGranted,
  RoleGrantedSchema,
  type RoleRevoked,
  RoleRevokedSchema,
} from '../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import { eventShape, messageCodec } from '../kernel/encoding/message-codec.js';
import { type StreamName, streamName } from '../kernel/stream.js';

/** The category of the streams, `roleBinding-:{principal}`. */
export const ROLE_BINDING_CATEGORY = 'roleBinding';

export type RoleBindingEvent =
  | { readonly type: 'RoleGranted'; readonly data: RoleGranted }
  | { readonly type: 'RoleRevoked'; readonly data: RoleRevoked };

/** The first component of a name is a project; it is empty here, so that no project is taken for a principal. */
export const roleBindingStream = (principal: string): StreamName => streamName(ROLE_BINDING_CATEGORY, ['', principal]);

export const roleBindingCodec = messageCodec<RoleBindingEvent>({
  RoleGranted: eventShape(RoleGrantedSchema),
  RoleRevoked: eventShape(RoleRevokedSchema),
});
