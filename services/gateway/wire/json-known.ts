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

const INTEGER_TYPES: ReadonlySet<ScalarType | undefined> = new Set([
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64],
  ...[ScalarType.INT32, ScalarType.UINT32, ScalarType.SINT32, ScalarType.FIXED32, ScalarType.SFIXED32],
]);

/** The part of a refused text that an error quotes: the decoder quotes texts of at most 30 characters. */
const SHOWN = /^.{0,12}/su;

/** A text that the decoder refuses, in place of one that it would take for an integer. */
const notInteger = (text: string): string => {
  const [shown = ''] = SHOWN.exec(text) ?? [];
  return `${shown === text ? text : `${shown}…`} (not an integer)`;
};

const DIGITS = /^-?\d+$/u;
const WITH_FRACTION_OR_EXPONENT = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/iu;

/** More zeros than the digits of any 64-bit integer. */
const MAX_ZEROS = 20;

/** Longer texts with a fraction or an exponent are not computed: that would take long. */
const MAX_COMPUTED = 100;

/**
 * The text of an integer as the decoder reads it rightly. The JSON mapping of protobuf has decimal digits, and also a
 * fraction or an exponent where the number is whole, such as `1e3`: these become digits. Any other text, such as `0x3`,
 * ` 3` or `1.5`, becomes one that the decoder refuses.
 */
const integerText = (text: string): string => {
  if (DIGITS.test(text)) return text;
  const parts = text.length > MAX_COMPUTED ? null : WITH_FRACTION_OR_EXPONENT.exec(text);
  if (!parts) return notInteger(text);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = `${whole}${fraction}`.replace(/0+$/u, '');
  if (digits === '') return '0';
  const zeros = Number(exponent) + whole.length - digits.length;
  return zeros < 0 ? notInteger(text) : `${sign}${digits}${'0'.repeat(Math.min(zeros, MAX_ZEROS))}`;
};

const integer = (json: JsonValue): JsonValue => (typeof json === 'string' ? integerText(json) : json);

/** The JSON of a field of integers: of one, or of each in a list or map, which is changed in place. */
const integers = (json: JsonValue): JsonValue => {
  if (typeof json === 'object' && json !== null)
    replaceEach(json, (key) => integer((json as JsonObject)[key] as JsonValue));
  return integer(json);
};

/** One JSON value twice: as it was parsed, and with its long integers as texts that keep every digit. */
type Parsed = { readonly json: JsonValue; readonly exact: JsonValue };

type Walk = { readonly keepUnknown: boolean; readonly depth: number };

const member = ({ json, exact }: Parsed, key: string): Parsed => ({
  json: (json as JsonObject)[key] as JsonValue,
  exact: (exact as JsonObject)[key] as JsonValue,
});

/** Replaces each value of an object or an array by what `known` makes of it, in place: large bodies are not copied. */
const replaceEach = (json: JsonObject | JsonValue[], known: (key: string) => JsonValue): void => {
  const values = json as JsonObject;
  for (const key of Object.keys(values)) {
    const replacement = known(key);
    if (replacement !== values[key]) values[key] = replacement;
  }
};

const inField = (field: DescField, value: Parsed, { keepUnknown, depth }: Walk): JsonValue => {
  const { json } = value;
  if (INTEGER_TYPES.has(field.scalar)) return integers(value.exact);
  const { message } = field;
  if (!message) return json;
  const walk = { keepUnknown, depth: depth + 1 };
  const isMap = field.fieldKind === 'map' && typeof json === 'object' && json !== null;
  if (!Array.isArray(json) && !isMap) return inMessage(message, value, walk);
  replaceEach(json, (key) => inMessage(message, member(value, key), walk));
  return json;
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
  const isLeftOut = (key: string): boolean => {
    const field = fields.get(key);
    return field ? field.oneof !== undefined && json[key] === null : !walk.keepUnknown;
  };
  for (const key of Object.keys(json)) if (isLeftOut(key)) Reflect.deleteProperty(json, key);
  replaceEach(json, (key) => {
    const field = fields.get(key);
    const inside = member(value, key);
    return field ? inField(field, inside, walk) : inside.json;
  });
  return json;
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
 * Texts that the decoder may misread: a day that only some months have, such as February 30, which it takes for one of
 * March; the hour 24; and a duration with more after its unit. Also a character of these that is escaped, such as
 * `\u0030`: one of `-.0123456789Ts`.
 */
const UNUSUAL_TEXT = /-(?:29|30|31)T|T24|"-?\d+(?:\.\d+)?s[^"]|\\u00(?:2[de]|3\d|54|73)/iu;

/**
 * Texts that the decoder may misread as an integer: one of another base than ten, with a plus, with or of white space,
 * with a point at its beginning or end, or with a negative exponent.
 */
const UNUSUAL_INTEGER =
  /"(?:0[box]|\+\d|[-+]?\.|\s+[-+\d\\"]|\\[bfnrtu]|-?\d+(?:\s+["\\]|\\[bfnrtu]|\.(?!\d)|(?:\.\d+)?e-))/iu;

/** True when the decoder might round or misread an integer of the JSON, or misread a time or a duration. */
export const mayBeMisread = (text: string): boolean =>
  LONG_INTEGER.test(text) || UNUSUAL_TEXT.test(text) || UNUSUAL_INTEGER.test(text);

/**
 * Makes of the JSON of a message, in place, what the decoder reads rightly: without nulls of members of a oneof, which
 * set nothing; with 64-bit integers of many digits as texts; with integers, times and durations that the decoder would
 * take for others as texts that it refuses; and, unless `keepUnknown`, without names that the message does not have.
 *
 * @param json the value of `text`, which is changed.
 * @returns the value to decode.
 */
export const toKnown = (type: DescMessage, text: string, json: JsonValue, keepUnknown: boolean): JsonValue => {
  const exact = LONG_INTEGER.test(text) ? (JSON.parse(withLongIntegersAsTexts(text)) as JsonValue) : json;
  return inMessage(type, { json, exact }, { keepUnknown, depth: 0 });
};
