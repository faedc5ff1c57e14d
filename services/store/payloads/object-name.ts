import { sha256Hex } from '../../kernel/encoding/hash.js';

/** Most file systems allow 255 bytes for a name; object stores allow 1,024 for a whole key. */
const MAX_NAME = 200;

/** Characters that `encodeURIComponent` keeps and a file name should not have, and names that refer to folders. */
const UNSAFE = /[!'()*]|^\.{1,2}$/gu;

/** Encodes a path segment for all file systems and object stores; different segments never get the same name. */
const objectName = (part: string): string => {
  const name = encodeURIComponent(part).replace(UNSAFE, (text) =>
    Array.from(text, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`).join(''),
  );
  return name.length > MAX_NAME ? `~${sha256Hex(part)}` : name || '%';
};

/** Path of a payload's object below the root of its store: `<scope>/<aa>/<sha256>`. */
export const payloadPath = (scope: string, sha256: string): string =>
  [...scope.split('/'), sha256.slice(0, 2), sha256].map(objectName).join('/');
