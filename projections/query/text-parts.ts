import { patternParts } from './like-pattern.js';
import type { Collection, Condition, FieldValue, Query, Searched } from '../runtime/read-store.js';

type HasParts = Extract<Condition, { is: 'has parts' }>;

/** How many characters a part of a text has; clients look for no shorter text. */
const PART_LENGTH = 3;

/** Of a longer text so many characters say enough. */
const MAX_ASKED_TEXT = 60;

/** Longer texts have no parts of their own: whoever looks for anything has to look at them. */
const MAX_TEXT = 1_000;

/** So many parts of a text tell it from others well enough. */
const MAX_ASKED = 8;

/** As stores have it, to whom half a pair of surrogates is no character. */
const charactersOf = (text: string): readonly string[] => Array.from(Buffer.from(text).toString());

/** The parts of a text, each once, in order. */
const partsOf = (text: string): readonly string[] => {
  const characters = charactersOf(text);
  const starts = Math.max(0, characters.length - PART_LENGTH + 1);
  return [...new Set(Array.from({ length: starts }, (_, at) => characters.slice(at, at + PART_LENGTH).join('')))];
};

/** Whether a text has too many parts to keep them. */
export const isLong = (text: string): boolean => text.length > MAX_TEXT;

/** What stands for the parts of a long text; no part is as short. */
export const LONG = '';

/** What is kept of a text: its parts, or that it is long. */
export const keptParts = (text: string): readonly string[] => (isLong(text) ? [LONG] : partsOf(text));

/** Some of these, from the first to the last. */
const spread = (parts: readonly string[]): readonly string[] =>
  parts.length <= MAX_ASKED
    ? parts
    : Array.from({ length: MAX_ASKED }, (_, i) => parts[Math.round((i * (parts.length - 1)) / (MAX_ASKED - 1))] ?? '');

/** The texts that stand in whatever fits a pattern. */
const plainTexts = (pattern: string): readonly string[] => {
  const texts = [''];
  for (const part of patternParts(pattern) ?? []) {
    if (typeof part === 'string') texts.push(`${texts.pop() ?? ''}${part}`);
    else texts.push('');
  }
  return texts;
};

const textsOf = (condition: Condition): readonly string[] => {
  if (condition.is === 'contains') return [condition.value];
  return condition.is === 'like' ? plainTexts(condition.pattern) : [];
};

/** What a condition says of the parts of its field; nothing where it says too little. */
export const partsBound = (condition: Condition): HasParts | undefined => {
  const texts = textsOf(condition).map((text) => charactersOf(text).slice(0, MAX_ASKED_TEXT));
  const parts = texts.filter(({ length }) => length >= PART_LENGTH).map((characters) => characters.join(''));
  return parts.length === 0 ? undefined : { field: condition.field, is: 'has parts', parts: spread(parts) };
};

/** Some parts of three characters of what is looked for. */
export const askedParts = (texts: readonly string[]): readonly string[] =>
  spread([...new Set(texts.flatMap((text) => partsOf(text)))]);

/** The values of the scope in which a query looks for parts; `undefined` where it leaves one open. */
const scopeOf = (searched: Searched, where: readonly Condition[]): readonly FieldValue[] | undefined => {
  const values = searched.scope.map((field) => where.find((each) => each.field === field && each.is === '='));
  return values.every((each) => each !== undefined)
    ? values.map((each) => ('value' in each ? each.value : null))
    : undefined;
};

/** A search that a query comes to. */
export type Search = {
  readonly searched: Searched;
  readonly scope: readonly FieldValue[];
  readonly parts: readonly string[];
};

/** The search that serves a query in its order, if it has one. */
export const searchOf = (collection: Collection, { where, orderBy }: Query): Search | undefined => {
  for (const searched of collection.searched ?? []) {
    const bound = where.find((each): each is HasParts => each.is === 'has parts' && each.field === searched.field);
    const scope = bound && searched.sort === orderBy.field ? scopeOf(searched, where) : undefined;
    if (bound && scope) return { searched, scope, parts: bound.parts };
  }
  return undefined;
};

/** The values of a document's scope. */
export const scopeIn = ({ scope }: Searched, fields: Readonly<Record<string, FieldValue>>): readonly FieldValue[] =>
  scope.map((field) => fields[field] ?? null);

/** A number below 2^47 for a text: others have it too, but few. */
export const numberOf = (text: string): number => {
  let [low, high] = [0x811c9dc5, 0x1b873593];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ (code + (low >>> 15)), 0x85ebca6b);
  }
  return (low >>> 0) * 2 ** 15 + (high >>> 17);
};

/** The numbers of some parts in a scope. */
export const partNumbers = (scope: readonly FieldValue[], parts: readonly string[]): readonly number[] => {
  const before = JSON.stringify(scope);
  return parts.map((part) => numberOf(before + part));
};
