import type { MessageInitShape } from '@bufbuild/protobuf';

import { type ResourceListRequestSchema, Sort_Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import type { Scope } from './ids.js';

/** The request for the newest executions of a project and domain; archived ones only if filters name their state. */
export const newestExecutions = (id: Scope, limit: number): MessageInitShape<typeof ResourceListRequestSchema> => ({
  id,
  limit,
  sortBy: { key: 'created_at', direction: Sort_Direction.DESCENDING },
});
