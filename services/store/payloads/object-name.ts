import { sha256Hex } from '../../kernel/encoding/hash.js';

/** Most file systems allow 255 bytes for a name; object stores allow 1,024 for a whole key. */
const MAX_NAME = 200;

/** Characters that `encodeURIComponent` keeps and a file name should not have, and names that refer to folders. */
const UNSAFE = /[!'()*]|^\.{1,2}$/gu;

/**
 * Encodes a path segment for all file systems and object stores. Different segments get different names, except for one
 * that is itself `~` and the hash of a long one.
 */
const objectName = (part: string): string => {
  const name = encodeURIComponent(part).replace(UNSAFE, (text) =>
    Array.from(text, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`).join(''),
  );
  return name.length > MAX_NAME ? `~${sha256Hex(part)}` : name || '%';
};

/** Path of a payload's object below the root of its store: `<scope>/<aa>/<sha256>`. */
export const payloadPath = (scope: string, sha256: string): string =>
  [...scope.split('/'), sha256.slice(0, 2), sha256].map(objectName).join('/');

// Stores have objects with `.aside-` in their names: it must not change, here and below.
const NAMES = /^(?<path>(?:.*\/)?[0-9a-f]{64})(?:\.aside-(?<at>\d{1,15}))?$/u;

/** The parts of an object's name in its store. */
type ObjectName = {
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
