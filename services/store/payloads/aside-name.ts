const NAMES = /^(?<path>(?:.*\/)?[0-9a-f]{64})(?:\.aside-(?<at>\d{1,15}))?$/u;

/** What an object's name in its store says of it. */
export type ObjectName = {
  /** Where it belongs. */
  readonly path: string;
  /** When it was set aside, in milliseconds since 1970; absent where it was not. */
  readonly asideAtMs?: number;
};

/** What every name begins with that an object was set aside under. */
export const asidePrefix = (path: string): string => `${path}.aside-`;

/** A name for an object that is set aside now: no two take the same, so what is set aside is never written over. */
export const asideName = (path: string, nowMs: number): string => `${asidePrefix(path)}${nowMs}`;

/** Reads the name of an object; `undefined` for what is none. */
export const objectNamed = (name: string): ObjectName | undefined => {
  const { path, at } = NAMES.exec(name)?.groups ?? {};
  if (path === undefined) return undefined;
  return { path, ...(at !== undefined && { asideAtMs: Number(at) }) };
};
