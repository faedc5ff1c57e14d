import { type Call, missing } from '../../services/kernel/rpc.js';
import { fromBinary } from '@bufbuild/protobuf';
import { ExecutionSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { filtersOf } from '../query/filters/filter.js';
import { type Listed, listPage, type ListScope } from '../query/list-query.js';
import { completeExecutionId, executionStreamPrefix } from '../query/execution-identifiers.js';
import { satisfies } from '../query/filters/satisfies.js';
import type { Condition, StoredDocument } from '../runtime/read-store.js';
import { executionCollection, executionColumns } from './columns.js';
import type { ExecutionFilter, ExecutionReads } from '../query/execution-reads.js';
import { executionStream } from '../../services/kernel/execution-id.js';

const ACTIVE = 0;

const labelled = ([key, value]: readonly [string, string]): Condition => ({
  field: 'tags',
  is: 'has pair',
  where: [
    { field: 'key', is: '=', value: key },
    { field: 'value', is: '=', value },
  ],
});

/** Conditions that a list of executions has besides its filters; archived executions are left out unless asked for. */
export const executionScope = (
  scope: Readonly<Record<string, string>>,
  also: readonly Condition[] = [],
): ListScope => ({
  where: [...Object.entries(scope).map(([field, value]): Condition => ({ field, is: '=', value })), ...also],
  unlessNamed: [{ field: 'state', is: '=', value: ACTIVE }],
});

const scopeOf = ({ project, domain, labels }: ExecutionFilter): ListScope => {
  if (project === '') throw missing('project');
  if (domain === '') throw missing('domain');
  return executionScope({ project, domain }, labels.map(labelled));
};

/**
 * Makes the test of a filter for single documents.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming what is wrong with the filter, such as a column that executions lack.
 */
export const executionTest = (filter: ExecutionFilter): ((document: StoredDocument) => boolean) => {
  const { where, unlessNamed = [] } = scopeOf(filter);
  const { terms, names } = filtersOf(executionColumns, filter.filters);
  const all = [
    ...where,
    ...unlessNamed.filter(({ field }) => !names.has(field)),
    ...terms.map(({ condition }) => condition),
  ];
  return ({ fields }) => all.every((condition) => satisfies(fields, condition));
};

const PAGE = 100;

/**
 * Reads the executions that a filter matches, in pages, the newest first. An execution that no longer matches when its
 * document is read, after its page was found, is left out.
 *
 * @throws {RpcError} as ListExecutions.
 */
export const matchingExecutions = async function* (
  { store, freshness }: Pick<ExecutionReads, 'store' | 'freshness'>,
  filter: ExecutionFilter,
  call: Call,
): AsyncGenerator<readonly StoredDocument[]> {
  await freshness.waitForPrefix(call, executionStreamPrefix(filter.project, filter.domain), executionCollection);
  const listed: Listed = {
    rpc: 'Watch',
    store,
    collection: executionCollection,
    columns: executionColumns,
    order: { field: 'created_at', direction: 'descending' },
  };
  const isMatch = executionTest(filter);
  let token = '';
  do {
    const page = await listPage(listed, scopeOf(filter), { limit: PAGE, token, filters: filter.filters });
    const keys = page.elements.map((each) =>
      executionStream(completeExecutionId(fromBinary(ExecutionSchema, each).id)),
    );
    const found = new Map((await store.getMany(executionCollection, keys)).map((each) => [each.key, each]));
    // The documents are read after the page, and may be newer than it.
    yield keys.flatMap((key) => found.get(key) ?? []).filter(isMatch);
    ({ token } = page);
  } while (token !== '');
};
