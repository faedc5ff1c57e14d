import type { MatchableResource, MatchingAttributes } from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { Scope } from './state.js';

export type AttributesCommand =
  /** Replaces what the scope has of this type; plugin overrides are merged by task type. */
  | { readonly type: 'UpdateAttributes'; readonly scope: Scope; readonly attributes: MatchingAttributes }
  /** Removes what exactly this scope has of a type; nothing to do where it has none. */
  | { readonly type: 'DeleteAttributes'; readonly scope: Scope; readonly resourceType: MatchableResource };
