import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { toggled } from '../../executions/filter-text.js';
import { queriesOf } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { readTree } from './node-list.js';
import { useShownLevels } from './shown-levels.js';
import type { Children } from './tree.js';

/** The nodes of an execution, with those of open parents below them, and a function that opens or closes a parent. */
export type Tree = {
  readonly query: UseQueryResult<Children>;
  readonly toggle: (nodeId: string) => void;
};

export const useTree = (seen: ExecutionAsOf): Tree => {
  const levels = useShownLevels();
  // The ids of the parents that the user has opened or closed against their default.
  const [toggledIds, setToggledIds] = useState<readonly string[]>([]);
  const query = useQuery({
    queryKey: [...queriesOf(AdminService.method.listNodeExecutions), seen, toggledIds],
    queryFn: ({ signal }) => readTree((parent) => levels.read({ seen, parent, signal }), toggledIds),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => levels.refetchInterval(seen, [...(data?.keys() ?? [])]),
  });
  return { query, toggle: (nodeId) => setToggledIds(toggled(toggledIds, nodeId)) };
};
