import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { queriesOf } from '../../server/queries.js';
import type { ExecutionAsOf } from '../moment.js';
import { type OpenParents, readTree, type SetOpen } from './node-list.js';
import { useShownLevels } from './shown-levels.js';
import type { Children } from './tree.js';

/** The nodes of an execution, with those of open parents below them. */
export type Tree = { readonly query: UseQueryResult<Children>; readonly setOpen: SetOpen };

export const useTree = (seen: ExecutionAsOf): Tree => {
  const levels = useShownLevels();
  const [chosen, setChosen] = useState<OpenParents>(new Map());
  const query = useQuery({
    queryKey: [...queriesOf(AdminService.method.listNodeExecutions), seen, [...chosen]],
    queryFn: ({ signal }) => readTree((parent) => levels.read({ seen, parent, signal }), chosen),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => levels.refetchInterval(seen, [...(data?.keys() ?? [])]),
  });
  return { query, setOpen: (nodeId, isOpen) => setChosen(new Map([...chosen, [nodeId, isOpen]])) };
};
