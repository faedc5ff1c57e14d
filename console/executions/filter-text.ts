/** One condition of the interface's filter text: `eq(phase,FAILED)`, `value_in(phase,FAILED;ABORTED)`. */
export type FilterCondition = { readonly operator: string; readonly field: string; readonly values: readonly string[] };

const TERM = /^([a-z_]+)\(([^,()]+),(.*)\)$/su;

const parsed = (text: string): FilterCondition | undefined => {
  const [, operator, field, values] = TERM.exec(text.trim()) ?? [];
  if (operator === undefined || field === undefined || values === undefined) return undefined;
  return { operator, field, values: values.split(';') };
};

/** Parses a filter text, whose conditions are joined with `+`; malformed ones are ignored. */
export const termsOf = (filters: string): readonly FilterCondition[] =>
  filters.split(/(?<=\))\+/u).flatMap((text) => parsed(text) ?? []);

const textOf = ({ operator, field, values }: FilterCondition): string => `${operator}(${field},${values.join(';')})`;

const isSame = (one: FilterCondition, other: FilterCondition): boolean =>
  one.operator === other.operator && one.field === other.field;

/** Replaces the condition with the operator and field of `term`, or removes it when `term` has no values. */
export const withCondition = (filters: string, term: FilterCondition): string => {
  const others = termsOf(filters).filter((each) => !isSame(each, term));
  return [...others, ...(term.values.length > 0 ? [term] : [])].map(textOf).join('+');
};

/** The values of a condition; empty when there is no such condition. */
export const valuesOf = (filters: string, operator: string, field: string): readonly string[] =>
  termsOf(filters).find((term) => term.operator === operator && term.field === field)?.values ?? [];

/** Adds the value, or removes it when it is there. */
export const toggled = (values: readonly string[], value: string): readonly string[] =>
  values.includes(value) ? values.filter((each) => each !== value) : [...values, value];
