import type { Kind } from '../../services/kernel/identifier.js';
import type { Column, Columns } from '../query/columns.js';
import { shortNameOf } from '../query/filters/entities.js';
import type { Collection } from '../runtime/read-store.js';

const NAME = ['resource_type', 'project', 'domain', 'name'];

/** The stored descriptions that authors give to versions of tasks and workflows. */
export const descriptionEntityCollection: Collection = {
  name: 'description-entities',
  version: 1,
  fields: {
    resource_type: 'integer',
    project: 'text',
    domain: 'text',
    name: 'text',
    version: 'text',
    created_at: 'integer',
    /** Position of the registration: it orders versions, also within a millisecond. */
    recorded: 'integer',
    /** Of this text and the two below, the first 1,024 UTF-16 code units. */
    short_description: 'text',
    long_description: 'text',
    link: 'text',
  },
  indexes: [
    [...NAME, 'recorded'],
    [...NAME, 'version'],
  ],
};

const byName = {
  resource_type: { field: 'resource_type', kind: 'number', filter: false },
  project: { field: 'project', kind: 'text' },
  domain: { field: 'domain', kind: 'text' },
  name: { field: 'name', kind: 'text' },
  version: { field: 'version', kind: 'text' },
  short_description: { field: 'short_description', kind: 'text' },
  long_description: { field: 'long_description', kind: 'text', filter: false },
  link: { field: 'link', kind: 'text', filter: false },
  created_at: { field: 'created_at', kind: 'time', order: 'recorded' },
  updated_at: { field: 'created_at', kind: 'time', order: 'recorded' },
  id: { field: 'recorded', kind: 'number' },
  deleted_at: { field: 'recorded', kind: 'opaque' },
} as const satisfies Readonly<Record<string, Column>>;

/**
 * The columns for filters and sorts of descriptions. In filters, the name of the described entity may precede a column:
 * `task.name`.
 */
export const descriptionEntityColumns = (kind: Kind): Columns => {
  const entity = kind.toLowerCase();
  return { entity, shortName: shortNameOf(entity) ?? entity, byName };
};
