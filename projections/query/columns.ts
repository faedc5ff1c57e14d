import type { Collection } from '../runtime/read-store.js';

/**
 * How the text of a filter's value becomes the value of a field.
 *
 * - `text`: as it is; a phase is the name of its enum value.
 * - `number`: a whole number, or the name of a value where the column is an enum.
 * - `time`: RFC 3339, to microseconds since 1970.
 * - `duration`: a number of seconds, or text such as `1m30s`, to microseconds.
 * - `opaque`: a column that other control planes fill with bytes, or not at all. It may be named: no filter fits it, and
 *   a sort by it goes by `field`.
 */
export type ColumnKind = 'text' | 'number' | 'time' | 'duration' | 'opaque';

/** One column of an entity, as requests name it. */
export type Column = {
  /** The field of the collection. */
  readonly field: string;
  readonly kind: ColumnKind;
  /** The enum whose numbers a `number` column holds: filters may have its names too. */
  readonly names?: Readonly<Record<string, string | number>>;
  /** The field that a sort by this column goes by, where another is finer: times recorded in one millisecond tie. */
  readonly order?: string;
  /** The field holds pairs, and the column is this part of them. */
  readonly part?: 'key' | 'value';
  /**
   * A coarse field beside this one, which has whole numbers: as `of` grows, so does it. Its few values are what a range
   * of this column is looked up by in other orders.
   */
  readonly classes?: { readonly field: string; readonly of: (value: number) => number };
  /**
   * This one is `field` plus what `by` holds, so a range of it bounds `field`, which lists are in the order of.
   */
  readonly follows?: { readonly field: string; readonly by: string };
  /** False: not a sort key. */
  readonly sort?: false;
  /** False: not a filter field. */
  readonly filter?: false;
};

/** The columns of an entity that requests may filter and sort by. */
export type Columns = {
  /** The entity's word, which may stand before a filter's field: `execution`. */
  readonly entity: string;
  /** The entity's short name in messages: `e`. */
  readonly code: string;
  /** By name. A name with a prefix, such as `launch_plan.name`, is a column of another entity, copied here. */
  readonly byName: Readonly<Record<string, Column>>;
  /** By the word of another entity, the field that holds the key of its document: its other columns are looked up. */
  readonly links?: Readonly<Record<string, string>>;
};

/** The entities that filters of other lists may look up, by their words. */
export type Entities = ReadonlyMap<string, { readonly collection: Collection; readonly columns: Columns }>;

/** The names of the columns that filters may compare with something, in the order of the alphabet. */
export const filterFields = ({ byName }: Columns): readonly string[] =>
  Object.keys(byName)
    .filter((name) => byName[name]?.filter !== false && byName[name]?.kind !== 'opaque')
    .sort();

/** The column of a name, if there is one. */
export const columnNamed = ({ byName }: Columns, name: string): Column | undefined =>
  Object.hasOwn(byName, name) ? byName[name] : undefined;
