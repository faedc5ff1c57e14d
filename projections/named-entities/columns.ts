import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { NamedEntityState } from '../../proto/gen/platformidl/admin/common_pb.js';
import type { Column, Columns } from '../query/columns.js';
import { enumValues } from '../query/enum-name.js';
import type { Collection } from '../runtime/read-store.js';

const SCOPE = ['resource_type', 'project', 'domain'];

/** The stored names of registered entities. */
export const namedEntityCollection: Collection = {
  name: 'named-entities',
  version: 4,
  fields: {
    resource_type: 'integer',
    project: 'text',
    domain: 'text',
    name: 'text',
    description: 'text',
    state: 'integer',
    /** 1 for a name with the prefix of those that the control plane generates for its own use, else 0. */
    generated: 'integer',
    /** Times of the first and the last change to the name's metadata. */
    noted_at: 'integer',
    updated_at: 'integer',
  },
  indexes: [
    [...SCOPE, 'name'],
    [...SCOPE, 'generated', 'name'],
    [...SCOPE, 'state', 'name'],
    [...SCOPE, 'generated', 'state'],
    [...SCOPE, 'generated', 'description'],
  ],
  values: { state: enumValues(NamedEntityState) },
  searched: [{ field: 'name', scope: SCOPE, sort: 'name' }],
};

const named = {
  resource_type: { field: 'resource_type', kind: 'number', names: ResourceType },
  project: { field: 'project', kind: 'text' },
  domain: { field: 'domain', kind: 'text' },
  name: { field: 'name', kind: 'text' },
  description: { field: 'description', kind: 'text' },
  state: { field: 'state', kind: 'number', names: NamedEntityState },
} as const satisfies Readonly<Record<string, Column>>;

/** The columns of the name's metadata, under the entity name that filters use for it. */
const noted = Object.fromEntries(
  Object.entries<Column>({
    ...named,
    created_at: { field: 'noted_at', kind: 'time' },
    updated_at: { field: 'updated_at', kind: 'time' },
    id: { field: 'noted_at', kind: 'opaque' },
    deleted_at: { field: 'noted_at', kind: 'opaque' },
  }).map(([name, column]) => [`named_entity_metadata.${name}`, column]),
);

/** The columns for filters and sorts of names. */
export const namedEntityColumns: Columns = { entity: 'entities', shortName: 'nen', byName: { ...named, ...noted } };
