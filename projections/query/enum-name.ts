/** The name of an enum's value; the number as text for a value that this release does not know. */
export const enumName = (names: Readonly<Record<number, string>>, value: number): string =>
  names[value] ?? String(value);

/** The names of all values of an enum, in alphabetical order. */
export const enumNames = (names: Readonly<Record<string, string | number>>): readonly string[] =>
  Object.values(names)
    .filter((each) => typeof each === 'string')
    .sort();

/** All values of an enum, ascending. */
export const enumValues = (names: Readonly<Record<string, string | number>>): readonly number[] =>
  Object.values(names)
    .filter((each) => typeof each === 'number')
    .sort((a, b) => a - b);
