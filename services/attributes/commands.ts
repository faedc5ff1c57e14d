import type { MatchableResource, MatchingAttributes } from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { AttributeScope } from './state.js';

export type AttributesCommand =
  /** Replaces the scope's attributes of this type; plugin overrides are merged by task type. */
  | { readonly type: 'UpdateAttributes'; readonly scope: AttributeScope; readonly attributes: MatchingAttributes }
  /** Removes the attributes of a type at exactly this scope; records nothing when there are none. */
  | { readonly type: 'DeleteAttributes'; readonly scope: AttributeScope; readonly resourceType: MatchableResource };
