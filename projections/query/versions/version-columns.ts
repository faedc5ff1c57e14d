import type { Column } from '../columns.js';
import type { Collection } from '../../runtime/read-store.js';

/** A digest in the form that filters compare: lower-case hexadecimal. */
export const digestText = (digest: Uint8Array): string => Buffer.from(digest).toString('hex');

const SCOPE = ['project', 'domain'];

/** The indexed fields of versioned entities (tasks, workflows, launch plans). Times are in microseconds since 1970. */
export const versionFields = {
  project: 'text',
  domain: 'text',
  name: 'text',
  version: 'text',
  created_at: 'integer',
  updated_at: 'integer',
  digest: 'text',
  /** Position of the registration: the newest version is the last one in the log, also within a millisecond. */
  recorded: 'integer',
} as const satisfies Collection['fields'];

/**
 * The orders that clients ask for: the newest versions of a project and domain, of a name, or of a version; and the
 * names themselves.
 */
export const versionIndexes: Collection['indexes'] = [
  [...SCOPE, 'recorded'],
  [...SCOPE, 'name', 'recorded'],
  [...SCOPE, 'name', 'version', 'recorded'],
  [...SCOPE, 'version', 'recorded'],
  [...SCOPE, 'name'],
];

/** Clients search for texts in the names of a project and domain, and in the versions of a name. */
export const versionSearched: NonNullable<Collection['searched']> = [
  { field: 'name', scope: SCOPE, sort: 'recorded', isSortUnique: true },
  { field: 'version', scope: [...SCOPE, 'name'], sort: 'recorded', isSortUnique: true },
];

/** Texts of fewer than three characters, and texts searched in other scopes, are found by scanning these indexes. */
export const versionCarried: NonNullable<Collection['carried']> = {
  [[...SCOPE, 'recorded'].join('.')]: ['name', 'version'],
  [[...SCOPE, 'name', 'recorded'].join('.')]: ['version'],
};

/** The columns of versioned entities. `deleted_at` and `closure` can be named, but no version has a value of them. */
export const versionColumns = {
  id: { field: 'recorded', kind: 'number' },
  project: { field: 'project', kind: 'text' },
  domain: { field: 'domain', kind: 'text' },
  name: { field: 'name', kind: 'text' },
  version: { field: 'version', kind: 'text' },
  created_at: { field: 'created_at', kind: 'time', order: 'recorded' },
  updated_at: { field: 'updated_at', kind: 'time' },
  deleted_at: { field: 'recorded', kind: 'opaque' },
  closure: { field: 'recorded', kind: 'opaque' },
  digest: { field: 'digest', kind: 'text' },
} as const satisfies Readonly<Record<string, Column>>;
