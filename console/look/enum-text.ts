/** The name of a value of an enum in words: `timed out` for `TIMED_OUT`. */
export const enumText = (name: string): string => name.toLowerCase().replaceAll('_', ' ');

/** The name of a value of an enum as the beginning of a text: `Timed out` for `TIMED_OUT`. */
export const capitalEnumText = (name: string): string => {
  const text = enumText(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
};
