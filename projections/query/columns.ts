import type { Collection, Condition } from '../runtime/read-store.js';

/**
 * Type of a column, which determines how the text of a filter's value is converted to the value of a field.
 *
 * - `text`: as it is; a phase is the name of its enum value, one of `values`.
 * - `number`: a whole number, or the name of a value where the column is an enum.
 * - `time`: RFC 3339, or only its date, or without the zone (UTC then), to microseconds since 1970.
 * - `duration`: a number of seconds, or text such as `1m30s`, to microseconds.
 * - `opaque`: a column that other control planes fill with bytes, or not at all. Requests may name it: a filter on it
 *   matches nothing, and a sort by it goes by `field`.
 */
export type ColumnKind = 'text' | 'number' | 'time' | 'duration' | 'opaque';

/** A column of an entity that requests can name. */
export type Column = {
  /** The field of the collection. */
  readonly field: string;
  readonly kind: ColumnKind;
  /** The enum whose numbers a `number` column holds; filters may also use the names of its values. */
  readonly names?: Readonly<Record<string, string | number>>;
  /**
   * The only texts that a `text` column holds; filters that compare it with another text are refused, except with the
   * phases that only Flyte's console has.
   */
  readonly values?: readonly string[];
  /**
   * The field that a sort by this column uses, where another field is finer: times recorded within one millisecond are
   * equal.
   */
  readonly order?: string;
  /** The half of a pair that the column stands for, where the field holds pairs. */
  readonly part?: 'key' | 'value';
  /** The key of the only pair that the column stands for; without it, every pair counts. */
  readonly key?: string;
  /** Conditions that every document with a value in the field satisfies; indexes use them to narrow filters. */
  readonly within?: readonly Condition[];
  /**
   * A coarser field of the same document, with few whole numbers as values: `classOf` maps a value of this column to it
   * and never decreases. A range of this column is narrowed by these values when the list is sorted by another field.
   */
  readonly classes?: { readonly field: string; readonly classOf: (value: number) => number };
  /**
   * Set when this column equals `field` plus the value of `by`: a range of this column then bounds `field`, by which
   * lists are sorted.
   */
  readonly follows?: { readonly field: string; readonly by: string };
  /** False when requests cannot sort by it. */
  readonly sort?: false;
  /** False when requests cannot filter by it. */
  readonly filter?: false;
};

/** The columns of an entity that requests may filter and sort by. */
export type Columns = {
  /** The entity's name, which may precede a filter's field: `execution`. */
  readonly entity: string;
  /** The entity's short name in messages about a filter, such as `'ne.colour' is invalid filter`. */
  readonly shortName: string;
  /**
   * Columns by name. A name with a prefix, such as `launch_plan.name`, is a column of another entity, copied into this
   * one's documents.
   */
  readonly byName: Readonly<Record<string, Column>>;
  /** The field of pairs that holds labels: `label.team` is then the column with the value of the label `team`. */
  readonly labels?: string;
  /**
   * Name of another entity → the field that holds the key of its document, through which its other columns are looked
   * up.
   */
  readonly links?: Readonly<Record<string, string>>;
};

/** Entities that filters of other lists may look up, by name. */
export type LinkedEntities = ReadonlyMap<string, { readonly collection: Collection; readonly columns: Columns }>;

/** Precedes the key of a label in the name of its column. */
const LABEL = 'label.';

/** Names of the columns that filters may compare with a value, in alphabetical order, without those of labels. */
export const filterFields = ({ byName }: Columns): readonly string[] =>
  Object.keys(byName)
    .filter((name) => byName[name]?.filter !== false && byName[name]?.kind !== 'opaque')
    .sort();

/** Names of the columns that lists may be sorted by, in alphabetical order, without the opaque ones. */
export const sortKeys = ({ byName }: Columns): readonly string[] =>
  Object.keys(byName)
    .filter((name) => byName[name]?.sort !== false && byName[name]?.kind !== 'opaque' && !name.includes('.'))
    .sort();

/** The columns of {@link filterFields}, with `label.KEY` in place of the columns of labels. */
export const ownFilterFields = (columns: Columns): readonly string[] =>
  [...filterFields(columns), ...(columns.labels === undefined ? [] : [`${LABEL}KEY`])].sort();

const labelColumn = (field: string, name: string): Column | undefined => {
  const key = name.slice(LABEL.length);
  return name.startsWith(LABEL) && key !== '' ? { field, kind: 'text', part: 'value', key } : undefined;
};

/** The column with a name; `undefined` when there is none. */
export const columnNamed = ({ byName, labels }: Columns, name: string): Column | undefined => {
  if (Object.hasOwn(byName, name)) return byName[name];
  return labels === undefined ? undefined : labelColumn(labels, name);
};
