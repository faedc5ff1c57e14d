import { statSync } from 'node:fs';

/**
 * A file or folder that the process keeps in use. Writes through an open handle are lost once the path refers to
 * another file.
 */
export type PathIdentity = {
  readonly path: string;
  /** Describes what happened to the path; `undefined` while it refers to the original file or folder. */
  readonly changed: () => string | undefined;
};

/** Device and inode of a path; `undefined` when it does not exist. */
const identityAt = (path: string): string | undefined => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}/${found.ino}`;
};

/** Remembers the file or folder at a path. A path that does not exist yet is remembered when it is first seen. */
export const pathIdentity = (path: string): PathIdentity => {
  let known = identityAt(path);
  return {
    path,
    changed: () => {
      const now = identityAt(path);
      known ??= now;
      if (now === known) return undefined;
      return now === undefined ? `${path} was removed or moved` : `${path} was replaced by another`;
    },
  };
};

/** Describes what happened to the first path that has changed; `undefined` when none has. */
export const firstChanged = (identities: readonly PathIdentity[]): string | undefined => {
  for (const { changed } of identities) {
    const change = changed();
    if (change !== undefined) return change;
  }
  return undefined;
};
