import type { JsonValue } from '@bufbuild/protobuf';

/** The leaves of a JSON value, by their JSON pointers (RFC 6901). An empty object or list is a leaf. */
export type Leaves = ReadonlyMap<string, JsonValue>;

/** A leaf whose two values differ; `undefined` on the side that does not have it. */
export type LeafDifference = {
  readonly path: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
};

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

const addLeaves = (leaves: Map<string, JsonValue>, at: string, value: JsonValue): void => {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (inner.length === 0) leaves.set(at, value);
  for (const [name, each] of inner) addLeaves(leaves, `${at}/${escaped(name)}`, each);
};

/** Takes a JSON value apart. */
export const leavesOf = (value: JsonValue): Leaves => {
  const leaves = new Map<string, JsonValue>();
  addLeaves(leaves, '', value);
  return leaves;
};

const isSame = (before: JsonValue | undefined, after: JsonValue | undefined): boolean =>
  before === after || JSON.stringify(before) === JSON.stringify(after);

/** Lists the leaves that differ, in the order of their paths. */
export const leafDifferences = (before: Leaves, after: Leaves): readonly LeafDifference[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .sort()
    .map((path) => ({ path, before: before.get(path), after: after.get(path) }))
    .filter((each) => !isSame(each.before, each.after));
