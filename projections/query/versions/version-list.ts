import { create } from '@bufbuild/protobuf';
import {
  type NamedEntityIdentifierList,
  NamedEntityIdentifierListSchema,
} from '../../../proto/gen/platformidl/admin/common_pb.js';
import { type Call, missing } from '../../../services/kernel/rpc.js';
import { streamName } from '../../../services/kernel/stream.js';
import type { Columns, LinkedEntities } from '../columns.js';
import type { Freshness } from '../freshness.js';
import { type ListPage, type ListRequest, listNames, listPage } from '../list-query.js';
import type { Collection, Condition, ReadStore } from '../../runtime/read-store.js';

/** A kind of versioned entity and where it is listed from. */
export type VersionList = {
  readonly store: ReadStore;
  readonly freshness: Freshness;
  /** The category of its streams. */
  readonly category: string;
  readonly collection: Collection;
  readonly columns: Columns;
  /** The other entities that filters may name. */
  readonly entities?: LinkedEntities;
};

/** The scope of a list; without a name, it covers all names. */
export type VersionScope = { readonly project: string; readonly domain: string; readonly name?: string };

const whereOf = (scope: VersionScope): readonly Condition[] =>
  Object.entries(scope)
    .filter(([, value]) => value !== '')
    .map(([field, value]) => ({ field, is: '=', value }));

const assertScope = (scope: VersionScope | undefined): VersionScope => {
  if (scope === undefined) throw missing('id');
  if (scope.project === '') throw missing('project');
  if (scope.domain === '') throw missing('domain');
  return scope;
};

const ready = async (
  { freshness, category, collection }: VersionList,
  call: Call,
  scope: VersionScope,
): Promise<void> => freshness.waitForPrefix(call, streamName(category, [scope.project, scope.domain, '']), collection);

/**
 * Lists a page of versions, newest first unless the request specifies an order.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the missing field of the scope; as `listPage` and
 * `Freshness.waitForPrefix`.
 */
export const listVersions = async (
  list: VersionList & { readonly rpc: string; readonly where?: readonly Condition[] },
  sent: VersionScope | undefined,
  request: ListRequest,
  call: Call,
): Promise<ListPage> => {
  const { project, domain, name = '' } = assertScope(sent);
  const scope = { project, domain, name };
  await ready(list, call, scope);
  const order = { field: 'recorded', direction: 'descending' } as const;
  return listPage({ ...list, order }, { where: [...whereOf(scope), ...(list.where ?? [])] }, request);
};

/**
 * Lists a page of the names of a project and domain, each once.
 *
 * @throws {RpcError} as `listVersions`.
 */
export const listVersionNames = async (
  list: VersionList & { readonly rpc: string },
  request: ListRequest & Pick<VersionScope, 'project' | 'domain'>,
  call: Call,
): Promise<NamedEntityIdentifierList> => {
  const { project, domain } = assertScope(request);
  const scope = { project, domain };
  await ready(list, call, scope);
  const order = { field: 'name', direction: 'ascending' } as const;
  const { values, token } = await listNames({ ...list, order }, { where: whereOf(scope) }, request);
  return create(NamedEntityIdentifierListSchema, {
    entities: values.map((name) => ({ ...scope, name: String(name) })),
    token,
  });
};
