import type { Collection } from '../../runtime/read-store.js';

/** Which of the builds of the views: a rebuild makes the next one beside the one in use. */
export type Build = number;

/** Every collection of the first build is called what it has; those of later ones say which. */
export const ofBuild = (name: string, build: Build): string => (build === 0 ? name : `${name}.r${build}`);

/** The name of a collection of documents. */
export const collectionName = ({ name, version }: Pick<Collection, 'name' | 'version'>, build: Build): string =>
  ofBuild(`${name}.v${version}`, build);

/** The build that a collection belongs to. */
export const buildOf = (name: string): Build => Number(/\.r(?<build>\d+)$/u.exec(name)?.groups?.['build'] ?? 0);

/** Whether a collection is one that a build has: documents, checkpoints or parked streams. */
export const isOfViews = (name: string): boolean =>
  /^(?:[\w-]+\.v\d+|checkpoints|parked|parts)(?:\.r\d+)?$/u.test(name);

/** Where a field stands in a document. */
export const pathOf = (field: string): string => `f.${field}`;

/** Where the parts of a searched text stand in a document, by the place that the text has among those of its collection. */
export const searchPath = (at: number): string => `s.${at}`;

/** The name of the index over these fields. */
export const indexName = (fields: readonly string[]): string => fields.join('.');

/** The name of the index of the parts of a searched text. */
export const searchIndexName = (at: number): string => `search.${at}`;
