import { patternTokens } from './like-pattern.js';
import type { Collection, Condition, FieldValue, Query, Searched } from '../../runtime/read-store.js';

type ContainsAll = Extract<Condition, { is: 'contains all' }>;

/** Length of an indexed substring (trigram), in characters; a shorter text is searched without these indexes. */
const TRIGRAM_LENGTH = 3;

/** Characters of a searched text that are used; the rest of a longer text is not needed to find candidates. */
const MAX_QUERY_TEXT = 60;

/** Longer texts, in UTF-16 code units, are not indexed by their trigrams: every search has to look at them. */
const MAX_INDEXED_TEXT = 1_000;

/** Maximum number of trigrams that a search looks for; this many distinguish a text well enough. */
const MAX_QUERY_TRIGRAMS = 8;

/** Characters as stores see them: an unpaired surrogate is not a character. */
const charactersOf = (text: string): readonly string[] => Array.from(Buffer.from(text).toString());

/** The trigrams of a text, each once, in order. */
const trigramsOf = (text: string): readonly string[] => {
  const characters = charactersOf(text);
  const starts = Math.max(0, characters.length - TRIGRAM_LENGTH + 1);
  return [...new Set(Array.from({ length: starts }, (_, at) => characters.slice(at, at + TRIGRAM_LENGTH).join('')))];
};

/** True for a text that is too long to index. */
export const isLong = (text: string): boolean => text.length > MAX_INDEXED_TEXT;

/** Indexed in place of the trigrams of a long text; no trigram is empty. */
export const LONG_TEXT = '';

/** The trigrams that are indexed for a text: all of them, or the marker `LONG_TEXT`. */
export const indexedTrigrams = (text: string): readonly string[] => (isLong(text) ? [LONG_TEXT] : trigramsOf(text));

/** At most `MAX_QUERY_TRIGRAMS` of the texts, spread evenly from the first to the last. */
const spread = (texts: readonly string[]): readonly string[] =>
  texts.length <= MAX_QUERY_TRIGRAMS
    ? texts
    : Array.from(
        { length: MAX_QUERY_TRIGRAMS },
        (_, i) => texts[Math.round((i * (texts.length - 1)) / (MAX_QUERY_TRIGRAMS - 1))] ?? '',
      );

/** The literal texts that every match of a pattern contains. */
const plainTexts = (pattern: string): readonly string[] => {
  const texts = [''];
  for (const token of patternTokens(pattern) ?? []) {
    if (typeof token === 'string') texts.push(`${texts.pop() ?? ''}${token}`);
    else texts.push('');
  }
  return texts;
};

const textsOf = (condition: Condition): readonly string[] => {
  if (condition.is === 'contains') return [condition.value];
  return condition.is === 'like' ? plainTexts(condition.pattern) : [];
};

/** The substrings that a condition implies for its field; `undefined` for none, or when all are too short to search. */
export const containsAllOf = (condition: Condition): ContainsAll | undefined => {
  const texts = textsOf(condition).map((text) => charactersOf(text).slice(0, MAX_QUERY_TEXT));
  const kept = texts.filter(({ length }) => length >= TRIGRAM_LENGTH).map((characters) => characters.join(''));
  return kept.length === 0 ? undefined : { field: condition.field, is: 'contains all', texts: spread(kept) };
};

/** At most `MAX_QUERY_TRIGRAMS` trigrams of the texts searched for. */
export const queryTrigrams = (texts: readonly string[]): readonly string[] =>
  spread([...new Set(texts.flatMap((text) => trigramsOf(text)))]);

/** The values of the scope that a query binds; `undefined` when it leaves a field of the scope unbound. */
const scopeOf = (searched: Searched, where: readonly Condition[]): readonly FieldValue[] | undefined => {
  const values = searched.scope.map((field) => where.find((each) => each.field === field && each.is === '='));
  return values.every((each) => each !== undefined)
    ? values.map((each) => ('value' in each ? each.value : null))
    : undefined;
};

/** A search of indexed substrings that can serve a query. */
export type Search = {
  readonly searched: Searched;
  readonly scope: readonly FieldValue[];
  readonly texts: readonly string[];
};

/** The search that serves a query in its order; `undefined` when there is none. */
export const searchOf = (collection: Collection, { where, orderBy }: Query): Search | undefined => {
  for (const searched of collection.searched ?? []) {
    const bound = where.find(
      (each): each is ContainsAll => each.is === 'contains all' && each.field === searched.field,
    );
    const scope = bound && searched.sort === orderBy.field ? scopeOf(searched, where) : undefined;
    if (bound && scope) return { searched, scope, texts: bound.texts };
  }
  return undefined;
};

/** The values of the scope's fields in a document. */
export const scopeValuesIn = (
  { scope }: Searched,
  fields: Readonly<Record<string, FieldValue>>,
): readonly FieldValue[] => scope.map((field) => fields[field] ?? null);

/** Hash of a text, below 2^47; collisions are rare. */
export const hashOf = (text: string): number => {
  let [low, high] = [0x811c9dc5, 0x1b873593];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ (code + (low >>> 15)), 0x85ebca6b);
  }
  return (low >>> 0) * 2 ** 15 + (high >>> 17);
};

/** The hashes of trigrams within a scope. */
export const trigramHashes = (scope: readonly FieldValue[], trigrams: readonly string[]): readonly number[] => {
  const before = JSON.stringify(scope);
  return trigrams.map((trigram) => hashOf(before + trigram));
};
