/** The name of an enum's value; its digits for a value that this release does not know. */
export const enumName = (names: Readonly<Record<number, string>>, value: number): string =>
  names[value] ?? String(value);
