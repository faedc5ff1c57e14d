const NAMES = /^(?<path>(?:.*\/)?[0-9a-f]{64})(?:\.aside-(?<at>\d{1,15}))?$/u;

/** The parts of an object's name in its store. */
export type ObjectName = {
  /** Its regular path. */
  readonly path: string;
  /** Time of its quarantine, in milliseconds since 1970; absent for an object in its regular place. */
  readonly quarantinedAtMs?: number;
};

/** Prefix of all names under which an object is quarantined. */
export const quarantinePrefix = (path: string): string => `${path}.aside-`;

/**
 * The name for an object that is quarantined now. It contains the time, so that earlier quarantined copies are not
 * overwritten.
 */
export const quarantineName = (path: string, nowMs: number): string => `${quarantinePrefix(path)}${nowMs}`;

/** Parses the name of an object; `undefined` when it is not one. */
export const objectNamed = (name: string): ObjectName | undefined => {
  const { path, at } = NAMES.exec(name)?.groups ?? {};
  if (path === undefined) return undefined;
  return { path, ...(at !== undefined && { quarantinedAtMs: Number(at) }) };
};
