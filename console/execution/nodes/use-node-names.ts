import { skipToken, useQueries, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

import type { CompiledWorkflowClosure } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { Named } from '../../server/ids.js';
import { rpcQuery } from '../../server/queries.js';
import { type NodeNames, namesOf } from './node-names.js';
import { allOf, type Children, idOf } from './tree.js';

/** A version of a workflow never changes, and a dynamic node is taken to plan once: both are read once. */
const NEVER_CHANGES = { staleTime: Infinity, meta: { fixed: true } } as const;

const useCompiled = (id: Named): CompiledWorkflowClosure | undefined => {
  const execution = useQuery(rpcQuery(AdminService.method.getExecution, { id, asOf: '' }));
  const workflowId = execution.data?.closure?.workflowId;
  const options = rpcQuery(AdminService.method.getWorkflow, { ...(workflowId && { id: workflowId }) });
  const workflow = useQuery({
    ...options,
    ...NEVER_CHANGES,
    queryFn: workflowId ? (options.queryFn ?? skipToken) : skipToken,
  });
  return workflow.data?.closure?.compiledWorkflow;
};

/** Reads the names of the nodes of an execution from its workflow; there are none before the workflow has been read. */
export const useNodeNames = (id: Named, children: Children): NodeNames => {
  const compiled = useCompiled(id);
  const dynamic = useMemo(
    () =>
      // A dynamic node without children may not have planned them yet, and answers NOT_FOUND then.
      allOf(children).filter(
        (node) => node.metadata?.isDynamic === true && (children.get(idOf(node)) ?? []).length > 0,
      ),
    [children],
  );
  const planned = useQueries({
    queries: dynamic.map((node) => ({
      ...rpcQuery(AdminService.method.getDynamicNodeWorkflow, { ...(node.id && { id: node.id }) }),
      ...NEVER_CHANGES,
    })),
    combine: (answers) => answers.map(({ data }) => data?.compiledWorkflow),
  });
  return useMemo(() => {
    if (!compiled) return new Map();
    const plans = dynamic.flatMap((node, at) => {
      const plan = planned[at];
      return plan ? [[idOf(node), plan] as const] : [];
    });
    return namesOf(children, compiled, new Map(plans));
  }, [children, compiled, dynamic, planned]);
};
