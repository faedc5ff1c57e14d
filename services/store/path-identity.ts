import { statSync } from 'node:fs';

/** A file or folder that is kept in use; what is written by an open handle is lost once its path is another. */
export type PathIdentity = {
  readonly path: string;
  /** What has become of the path, in words; `undefined` while it is the file or folder that it was. */
  readonly changed: () => string | undefined;
};

/** Device and inode; `undefined` where there is nothing. */
const identityAt = (path: string): string | undefined => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}/${found.ino}`;
};

/** Remembers which file or folder is at a path. One that is not there yet is remembered when it is first seen. */
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

/** What has become of the first of some paths that is not what it was. */
export const firstChanged = (identities: readonly PathIdentity[]): string | undefined => {
  for (const { changed } of identities) {
    const what = changed();
    if (what !== undefined) return what;
  }
  return undefined;
};
