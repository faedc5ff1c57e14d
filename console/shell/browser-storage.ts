/** Reads a value that an earlier visit has stored; `undefined` when there is none, or the browser blocks storage. */
export const storedValue = (key: string): string | undefined => {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
};

/** Stores a value for later visits. Where the browser blocks storage or it is full, the value is not stored. */
export const storeValue = (key: string, value: string): void => {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The page works without it.
  }
};
