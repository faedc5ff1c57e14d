import { create, toBinary } from '@bufbuild/protobuf';

import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import {
  type ExecutionCountRequest,
  ExecutionCountService,
  ExecutionCountsSchema,
} from '../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';
import { type Call, missing, type Route, route } from '../../services/kernel/rpc.js';
import { filtersOf } from '../query/filters/filter.js';
import { type CountedList, valueCounts } from '../query/list-query.js';
import { executionStreamPrefix } from '../query/execution-identifiers.js';
import type { Condition, ReadStore } from '../runtime/read-store.js';
import { executionCollection, executionColumns } from './columns.js';
import { executionScope } from './matching.js';
import type { ExecutionReads } from '../query/execution-reads.js';

/** The services that counts of executions use. */
export type ExecutionCounting = Pick<ExecutionReads, 'entities' | 'freshness'> & { readonly store: ReadStore };

const { phase: ALL_PHASES = [] } = executionCollection.values ?? {};
const IN_ANY_PHASE: Condition = { field: 'phase', is: 'in', values: ALL_PHASES };

/**
 * Chooses the index to count over, one that also contains the phase: the index of `updated_at` for a filter on it, else
 * the index of the phase and `created_at`, which needs a condition on the phase.
 */
const readBy = (filtered: ReadonlySet<string>): { readonly order: string; readonly also: readonly Condition[] } => {
  if (filtered.has('updated_at')) return { order: 'updated_at', also: [] };
  return { order: 'created_at', also: filtered.has('phase') ? [] : [IN_ANY_PHASE] };
};

const count = async (
  { store, entities, freshness }: ExecutionCounting,
  { project, domain, filters }: ExecutionCountRequest,
  call: Call,
): Promise<Uint8Array> => {
  if (!project) throw missing('project');
  if (!domain) throw missing('domain');
  const { terms } = filtersOf(executionColumns, filters, entities);
  await freshness.waitForPrefix(call, executionStreamPrefix(project, domain), executionCollection);
  const { order, also } = readBy(new Set(terms.map(({ condition }) => condition.field)));
  const listed: CountedList = {
    rpc: 'Count',
    store,
    collection: executionCollection,
    columns: executionColumns,
    entities,
    order: { field: order, direction: 'descending' },
  };
  const counts = await valueCounts(listed, executionScope({ project, domain }, also), filters, 'phase');
  const phases = [...counts].map(([name, found]) => ({
    phase: Phase[name as keyof typeof Phase],
    count: BigInt(found),
  }));
  return toBinary(
    ExecutionCountsSchema,
    create(ExecutionCountsSchema, { phases: phases.sort((a, b) => a.phase - b.phase) }),
  );
};

/** Routes of the counts of executions. */
export const executionCountRoutes = (counting: ExecutionCounting): readonly Route[] => [
  route(ExecutionCountService.method.count, (request, call) => count(counting, request, call)),
];
