/** The value that a record itself has for a name, which may be one that all objects have, such as `constructor`. */
export const ownValue = <Value>(values: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;
