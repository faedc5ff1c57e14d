/**
 * How the text of a filter's value becomes the value of a field.
 *
 * - `text`: as it is; a phase is the name of its enum value.
 * - `number`: a whole number.
 * - `time`: RFC 3339, to microseconds since 1970.
 * - `duration`: a number of seconds, or text such as `1m30s`, to microseconds.
 */
export type ColumnKind = 'text' | 'number' | 'time' | 'duration';

/** One column of an entity, as requests name it. */
export type Column = {
  /** The field of the collection. */
  readonly field: string;
  readonly kind: ColumnKind;
  /** The field that a sort by this column goes by, where another is finer: times recorded in one millisecond tie. */
  readonly order?: string;
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
};

/** The column of a name, if there is one. */
export const columnNamed = ({ byName }: Columns, name: string): Column | undefined =>
  Object.hasOwn(byName, name) ? byName[name] : undefined;
