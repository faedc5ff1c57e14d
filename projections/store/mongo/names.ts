import type { Collection } from '../../runtime/read-store.js';

/** Number of a build of the views: a rebuild creates the next build beside the current one. */
export type Build = number;

/** The collection of the chunks of large documents. */
export const CHUNKS = 'parts';

/** Name of a collection in a build: the first build has no suffix, later ones have their number. */
export const ofBuild = (name: string, build: Build): string => (build === 0 ? name : `${name}.r${build}`);

/** The name of a collection of documents. */
export const collectionName = ({ name, version }: Pick<Collection, 'name' | 'version'>, build: Build): string =>
  ofBuild(`${name}.v${version}`, build);

/** The build that a collection belongs to. */
export const buildOf = (name: string): Build => Number(/\.r(?<build>\d+)$/u.exec(name)?.groups?.['build'] ?? 0);

/** True for a collection that belongs to a build: documents, checkpoints, parked streams or chunks. */
export const isOfViews = (name: string): boolean =>
  /^(?:[\w-]+\.v\d+|checkpoints|parked|parts)(?:\.r\d+)?$/u.test(name);

/** Path of a field in a stored document. */
export const storedPath = (field: string): string => `f.${field}`;

/** Path of the indexed trigrams of a searched text, by the text's index in the collection's `searched`. */
export const searchPath = (at: number): string => `s.${at}`;

/** Name of the index over these fields. */
export const indexName = (fields: readonly string[]): string => fields.join('.');

/** Name of the index of a searched text's trigrams. */
export const searchIndexName = (at: number): string => `search.${at}`;
