import type { JsonValue } from '@bufbuild/protobuf';

/** A field that differs, with its text on either side; `undefined` where a side does not have it. */
export type Difference = {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

type Fields = ReadonlyMap<string, JsonValue>;

/** Fields that differ in any two versions: the version itself, and the times of its registration and last change. */
const NOISE = /^(?:(?:closure\/compiledTask\/template\/)?id\/version|closure\/(?:created|updated)At)$/u;

const fieldOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined;

/** The name or id of an element of a list, such as a node; its index where it has neither. */
const nameOf = (element: JsonValue, index: number): string => {
  const name = fieldOf(fieldOf(element, 'metadata'), 'name') ?? fieldOf(element, 'id');
  return typeof name === 'string' && name !== '' ? name : String(index);
};

/**
 * The elements of a list by their names, so that an element that is added does not move the others. Elements of the
 * same name, such as two nodes that run one task, are numbered: `greet`, `greet (2)`.
 */
const elementsOf = (list: readonly JsonValue[]): Fields => {
  const elements = new Map<string, JsonValue>();
  const counts = new Map<string, number>();
  for (const [index, element] of list.entries()) {
    const name = nameOf(element, index);
    let count = (counts.get(name) ?? 0) + 1;
    let key = count === 1 ? name : `${name} (${count})`;
    while (elements.has(key)) key = `${name} (${(count += 1)})`;
    counts.set(name, count);
    elements.set(key, element);
  }
  return elements;
};

/** The fields of an object, or the elements of a list by their names; `undefined` for other values. */
const fieldsOf = (value: JsonValue | undefined): Fields | undefined => {
  if (Array.isArray(value)) return elementsOf(value);
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined;
};

const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 1);

/** The fields that differ between two documents; a part that only one of them has is one difference. */
export const differencesOf = (
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path = '',
): readonly Difference[] => {
  const [first, second] = [fieldsOf(before), fieldsOf(after)];
  if (first && second)
    return [...new Set([...first.keys(), ...second.keys()])].flatMap((name) =>
      differencesOf(first.get(name), second.get(name), path === '' ? name : `${path}/${name}`),
    );
  const [left, right] = [textOf(before), textOf(after)];
  return left === right || NOISE.test(path) ? [] : [{ path, before: left, after: right }];
};
