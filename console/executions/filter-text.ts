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

/** Characters that separate values and conditions in the server's filters, or escape another one in its patterns. */
const SEPARATORS = /[,;+\\]/gu;

/** The value of `contains` that finds a text: `_`, which matches any one character, replaces each of `SEPARATORS`. */
export const containedValue = (text: string): string => text.replaceAll(SEPARATORS, '_');

/**
 * The condition that a field is a text. Filters cannot contain a text with a separator, such as the version `1.0+abc`:
 * for it, the condition is that the field contains a similar text, which other values may do too.
 */
export const conditionToFind = (field: string, text: string): FilterCondition => {
  const value = containedValue(text);
  return { operator: value === text ? 'eq' : 'contains', field, values: [value] };
};

/** Replaces the condition that a field contains a text, or removes it when the text is empty. */
export const withContained = (filters: string, field: string, text: string): string =>
  withCondition(filters, { operator: 'contains', field, values: text === '' ? [] : [containedValue(text)] });

const LABEL = 'label.';
/** The value of `contains` that every value contains. */
const ANY = '%';

/** A condition on a label as people write it, `team=growth`, or `team` for any value; `undefined` for any other. */
const labelOf = ({ operator, field, values: [value] }: FilterCondition): string | undefined => {
  if (!field.startsWith(LABEL)) return undefined;
  const key = field.slice(LABEL.length);
  if (operator === 'eq') return `${key}=${value ?? ''}`;
  return operator === 'contains' && value === ANY ? key : undefined;
};

const labelCondition = (label: string): FilterCondition => {
  const [key = '', value = ''] = label.split(/=(.*)/su);
  const field = `${LABEL}${key}`;
  return value === '' ? { operator: 'contains', field, values: [ANY] } : { operator: 'eq', field, values: [value] };
};

/** The labels that a filter text asks for: `team=growth tier`. */
export const labelsOf = (filters: string): string =>
  termsOf(filters)
    .flatMap((term) => labelOf(term) ?? [])
    .join(' ');

/** Characters that no label has, and that separate values and conditions in the server's filters. */
const BETWEEN_LABELS = /[\s,;+]+/u;

/** Replaces the labels that a filter text asks for. */
export const withLabels = (filters: string, labels: string): string => {
  const others = termsOf(filters).filter((term) => labelOf(term) === undefined);
  const wanted = labels.split(BETWEEN_LABELS).filter((label) => !/^=?$/u.test(label));
  return [...others, ...wanted.map(labelCondition)].map(textOf).join('+');
};

/** Adds the value, or removes it when it is there. */
export const toggled = (values: readonly string[], value: string): readonly string[] =>
  values.includes(value) ? values.filter((each) => each !== value) : [...values, value];
