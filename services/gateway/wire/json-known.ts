import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from '@bufbuild/protobuf';

import { isMisreadTime } from '../../kernel/values/calendar-day.js';

/** Nesting that the decoder refuses, so that what is deeper is returned as it is. */
const MAX_DEPTH = 100;

const fieldsByName = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

const fieldsOf = (type: DescMessage): ReadonlyMap<string, DescField> => {
  const known = fieldsByName.get(type);
  if (known) return known;
  const fields = new Map(
    type.fields.flatMap((field) => [
      [field.name, field],
      [field.jsonName, field],
    ]),
  );
  fieldsByName.set(type, fields);
  return fields;
};

const LONG_TYPES: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/** One JSON value twice: as it was parsed, and with its long integers as texts that keep every digit. */
type Parsed = { readonly json: JsonValue; readonly exact: JsonValue };

type Walk = { readonly keepUnknown: boolean; readonly depth: number };

const member = ({ json, exact }: Parsed, key: string): Parsed => ({
  json: (json as JsonObject)[key] as JsonValue,
  exact: (exact as JsonObject)[key] as JsonValue,
});

const inField = (field: DescField, value: Parsed, { keepUnknown, depth }: Walk): JsonValue => {
  const { json } = value;
  if (LONG_TYPES.has(field.scalar)) return value.exact;
  const { message } = field;
  if (!message) return json;
  const known = (key: string): JsonValue => inMessage(message, member(value, key), { keepUnknown, depth: depth + 1 });
  if (Array.isArray(json)) return json.map((_element, index) => known(String(index)));
  if (field.fieldKind !== 'map' || typeof json !== 'object' || json === null) {
    return inMessage(message, value, { keepUnknown, depth: depth + 1 });
  }
  return Object.fromEntries(Object.keys(json).map((key) => [key, known(key)]));
};

/** A text that the decoder would take for a duration without its end, such as `1s and more`. */
const MISREAD_DURATION = /^-?\d+(?:\.\d+)?s./su;

/** The types whose JSON is a text that the decoder may misread, with the check for that. */
const MISREAD: Readonly<Record<string, (text: string) => boolean>> = {
  'google.protobuf.Timestamp': isMisreadTime,
  'google.protobuf.Duration': (text) => MISREAD_DURATION.test(text),
};

/** The JSON of a value of one of these types; where the decoder would misread a text, one that it refuses. */
const refusable = (json: JsonValue, isMisread: (text: string) => boolean): JsonValue =>
  typeof json === 'string' && isMisread(json) ? ` ${json}` : json;

const inMessage = (type: DescMessage, value: Parsed, walk: Walk): JsonValue => {
  const { json } = value;
  const isMisread = MISREAD[type.typeName];
  if (isMisread) return refusable(json, isMisread);
  // The JSON form of these types does not list their fields.
  if (walk.depth > MAX_DEPTH || type.typeName.startsWith('google.protobuf.')) return json;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const fields = fieldsOf(type);
  return Object.fromEntries(
    Object.keys(json).flatMap((key) => {
      const inside = member(value, key);
      const field = fields.get(key);
      if (!field) return walk.keepUnknown ? [[key, inside.json]] : [];
      return field.oneof && inside.json === null ? [] : [[key, inField(field, inside, walk)]];
    }),
  );
};

// An integer that may have more digits than a JavaScript number keeps, and not more than 64 bits have.
const LONG_INTEGER = /(?<=[:,[\s])-?\d{16,20}(?=[\s,}\]])/u;

const ESCAPE_QUOTE_OR_LONG_INTEGER = new RegExp(`\\\\.|"|${LONG_INTEGER.source}`, 'gsu');

const withLongIntegersAsTexts = (text: string): string => {
  let isInText = false;
  return text.replaceAll(ESCAPE_QUOTE_OR_LONG_INTEGER, (found) => {
    if (found === '"') isInText = !isInText;
    return isInText || found === '"' || found.startsWith('\\') ? found : `"${found}"`;
  });
};

/**
 * Texts that the decoder may misread: the end of a day that only some months have, such as February 30, which it takes
 * for one of March; the hour 24; and a duration with more after its unit. Also a character of these that is escaped,
 * such as `\u0030`: one of `-.0123456789Ts`.
 */
const UNUSUAL_TEXT = /-(?:29|30|31)T|T24|"-?\d+(?:\.\d+)?s[^"]|\\u00(?:2[de]|3\d|54|73)/iu;

/** True when the decoder might change a value of the JSON: round an integer, or misread a time or a duration. */
export const mayBeMisread = (text: string): boolean => LONG_INTEGER.test(text) || UNUSUAL_TEXT.test(text);

/**
 * Parses the JSON of a message: without nulls of members of a oneof, which set nothing; with 64-bit integers of many
 * digits as texts; with times and durations that the decoder would take for others as texts that it refuses; and,
 * unless `keepUnknown`, without names that the message does not have.
 *
 * @throws {SyntaxError} for a text that is not JSON.
 */
export const parseKnown = (type: DescMessage, text: string, keepUnknown: boolean): JsonValue => {
  const json = JSON.parse(text) as JsonValue;
  const exact = LONG_INTEGER.test(text) ? (JSON.parse(withLongIntegersAsTexts(text)) as JsonValue) : json;
  return inMessage(type, { json, exact }, { keepUnknown, depth: 0 });
};
