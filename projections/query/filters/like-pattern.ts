/** A component of a pattern: literal text, any text (`%`), or any one character (`_`). */
export type PatternToken = string | typeof ANY_TEXT | typeof ANY_CHARACTER;

export const ANY_TEXT = Symbol('any text');
export const ANY_CHARACTER = Symbol('any character');

const SIGNS: Readonly<Record<string, PatternToken>> = { '%': ANY_TEXT, _: ANY_CHARACTER };

/** Parses a pattern into its components, in order; `undefined` when it ends in an incomplete escape. */
export const patternTokens = (pattern: string): readonly PatternToken[] | undefined => {
  const parts: PatternToken[] = [];
  const characters = pattern[Symbol.iterator]();
  for (let next = characters.next(); next.done !== true; next = characters.next()) {
    const isEscape = next.value === '\\';
    const character = isEscape ? characters.next() : next;
    if (character.done === true) return undefined;
    parts.push(isEscape ? character.value : (SIGNS[character.value] ?? character.value));
  }
  return parts;
};

/** The literal text of a pattern without wildcards; `undefined` when it has any. */
export const plainText = (parts: readonly PatternToken[]): string | undefined =>
  parts.every((part) => typeof part === 'string') ? parts.join('') : undefined;
