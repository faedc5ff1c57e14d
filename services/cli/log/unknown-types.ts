import { eventTypes } from '../../event-json/event-types.js';
import { codecs } from '../../main/models.js';
import { oneLine } from '../client/output/text.js';

/** Names are alike when no more than this share of the characters of the longer one has to change. */
const MAX_CHANGED = 0.4;

/** The number of characters to insert, remove or replace in `from` to make `to` of it (Levenshtein). */
const editDistance = (from: string, to: string): number => {
  let before = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, letter] of Array.from(from).entries()) {
    const row = [at + 1];
    for (const [column, other] of Array.from(to).entries()) {
      const replaced = (before[column] ?? 0) + (letter === other ? 0 : 1);
      row.push(Math.min(replaced, (before[column + 1] ?? 0) + 1, (row[column] ?? 0) + 1));
    }
    before = row;
  }
  return before.at(-1) ?? 0;
};

/**
 * The share of characters that differ, without regard to case: 0 for the same name, 1 for one with nothing in common.
 */
const difference = (one: string, other: string): number =>
  editDistance(one.toLowerCase(), other.toLowerCase()) / Math.max(one.length, other.length);

const nearest = (given: string, types: readonly string[]): string | undefined => {
  const [first] = types
    .map((type) => ({ type, differs: difference(given, type) }))
    .sort((a, b) => a.differs - b.differs);
  return first && first.differs <= MAX_CHANGED ? first.type : undefined;
};

/**
 * The notes, one for each, about names that are no event type of this release, and of which no event was `found`. A
 * name is not refused: events of other writers and of newer releases have types that this release does not know.
 */
export const unknownTypeNotes = (
  given: readonly string[] = [],
  found: ReadonlySet<string> = new Set(),
): readonly string[] => {
  const types = given.length === 0 ? [] : eventTypes(codecs).map(({ message }) => message.name);
  const unknown = [...new Set(given)].filter((type) => !types.includes(type) && !found.has(type));
  return unknown.map((type) => {
    const other = nearest(type, types);
    const advice = other === undefined ? 'docs/events/README.md lists the types' : `did you mean ${other}?`;
    return `flightlog: this release records no events of type ${oneLine(type)}; ${advice}`;
  });
};

/** Prints the {@link unknownTypeNotes} to the standard error. */
export const printUnknownTypes = (given?: readonly string[], found?: ReadonlySet<string>): void => {
  for (const note of unknownTypeNotes(given, found)) process.stderr.write(`${note}\n`);
};
