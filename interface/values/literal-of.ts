import { create, fromJson, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromDate, TimestampSchema } from '@bufbuild/protobuf/wkt';

import {
  type Literal,
  LiteralSchema,
  type PrimitiveSchema,
  type ScalarSchema,
} from '../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, SimpleType } from '../../proto/gen/platformidl/core/types_pb.js';
import { durationOf } from './duration-text.js';
import { jsonOf } from './json-of.js';
import { Problem } from './problem.js';
import { typeInWords } from './type-text.js';

type ScalarInit = MessageInitShape<typeof ScalarSchema>['value'];
type PrimitiveInit = MessageInitShape<typeof PrimitiveSchema>['value'];

const scalar = (value: NonNullable<ScalarInit>): Literal =>
  create(LiteralSchema, { value: { case: 'scalar', value: { value } } });

const primitive = (value: NonNullable<PrimitiveInit>): Literal => scalar({ case: 'primitive', value: { value } });

const nothingOf = (value: unknown): Record<string, never> => {
  if (value !== null) throw new Problem('write null');
  return {};
};

const textOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new Problem('write a text');
  return value;
};

const integerOf = (value: unknown): bigint => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  // Reading the JSON may have rounded it.
  if (Number.isInteger(value)) throw new Problem('write a whole number beyond 2^53 - 1 in quotes');
  if (typeof value !== 'string' || !/^\s*-?\d+\s*$/u.test(value)) throw new Problem('write a whole number');
  const integer = BigInt(value.trim());
  if (integer !== BigInt.asIntN(64, integer)) throw new Problem('write a whole number from -2^63 to 2^63 - 1');
  return integer;
};

const floatOf = (value: unknown): number => {
  if (value === 'NaN') return Number.NaN;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) throw new Problem('write a number');
  return number;
};

const booleanOf = (value: unknown): boolean => {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw new Problem('choose true or false');
};

/** The years of `google.protobuf.Timestamp`. */
const FIRST_YEAR = 1;
const LAST_YEAR = 9_999;

/** False for a text that begins with a day such as February 30, which `Date` takes for March 2. */
const hasDay = (text: string): boolean => {
  const [day] = /^\d{4}-\d{2}-\d{2}/u.exec(text) ?? [];
  const at = day === undefined ? NaN : Date.parse(`${day}T00:00:00Z`);
  return day === undefined || Number.isNaN(at) || new Date(at).toISOString().startsWith(day);
};

/** The hour 24, which `Date` takes for the first hour of the next day. */
const HOUR_24 = /[t\s]24:/iu;

/** A time as RFC 3339 has it, to the nanosecond; other forms that `Date` reads, to the millisecond. */
const momentOf = (value: unknown): Timestamp => {
  const text = textOf(value);
  if (!hasDay(text)) throw new Problem('write a time with a day that exists');
  if (HOUR_24.test(text)) throw new Problem('write a time with an hour below 24');
  try {
    return fromJson(TimestampSchema, text);
  } catch {
    const date = new Date(text);
    const year = date.getUTCFullYear();
    if (Number.isNaN(year)) throw new Problem('write a time such as 2026-03-02T09:58:16Z');
    if (year < FIRST_YEAR || year > LAST_YEAR) throw new Problem(`write a time of the years 1 to ${LAST_YEAR}`);
    return timestampFromDate(date);
  }
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objectOf = (value: unknown): Readonly<Record<string, unknown>> => {
  if (!isObject(value)) throw new Problem('write an object: { "name": … }');
  return value;
};

const bytesOf = (value: unknown): Uint8Array => {
  try {
    return Uint8Array.from(atob(textOf(value)), (character) => character.codePointAt(0) ?? 0);
  } catch {
    throw new Problem('write base64');
  }
};

const SIMPLE: Readonly<Record<SimpleType, (value: unknown) => Literal>> = {
  [SimpleType.NONE]: (value) => scalar({ case: 'noneType', value: nothingOf(value) }),
  [SimpleType.INTEGER]: (value) => primitive({ case: 'integer', value: integerOf(value) }),
  [SimpleType.FLOAT]: (value) => primitive({ case: 'floatValue', value: floatOf(value) }),
  [SimpleType.STRING]: (value) => primitive({ case: 'stringValue', value: textOf(value) }),
  [SimpleType.BOOLEAN]: (value) => primitive({ case: 'boolean', value: booleanOf(value) }),
  [SimpleType.DATETIME]: (value) => primitive({ case: 'datetime', value: momentOf(value) }),
  [SimpleType.DURATION]: (value) => primitive({ case: 'duration', value: durationOf(textOf(value)) }),
  [SimpleType.BINARY]: (value) => scalar({ case: 'binary', value: { value: bytesOf(value) } }),
  [SimpleType.ERROR]: (value) => scalar({ case: 'error', value: { message: textOf(value) } }),
  [SimpleType.STRUCT]: (value) => scalar({ case: 'generic', value: objectOf(value) as JsonObject }),
};

const within = (place: string, type: LiteralType, value: unknown): Literal => {
  try {
    return literalOf(type, value);
  } catch (error) {
    throw error instanceof Problem ? new Problem(`${place}: ${error.message}`) : error;
  }
};

const literalIfFits = (type: LiteralType, value: unknown): readonly Literal[] => {
  try {
    return [literalOf(type, value)];
  } catch (error) {
    if (error instanceof Problem) return [];
    throw error;
  }
};

/** True where two values are of the same kinds in JSON, at every level: a text `7` is not the number 7. */
const isOfKind = (value: unknown, other: unknown): boolean => {
  if (Array.isArray(value)) return Array.isArray(other) && value.every((each, at) => isOfKind(each, other[at]));
  if (isObject(value))
    return isObject(other) && Object.entries(value).every(([key, each]) => isOfKind(each, other[key]));
  return typeof value === typeof other;
};

/**
 * The value as the first variant that takes it as it is; where there is none, as the first for which it can be read,
 * such as an integer for the text `7`.
 */
const firstThatFits = (variants: readonly LiteralType[], value: unknown): Literal => {
  const fits = variants.flatMap((type) => literalIfFits(type, value).map((literal) => ({ type, literal })));
  const first = fits.find(({ literal }) => isOfKind(value, jsonOf(literal))) ?? fits[0];
  if (first) return unionLiteral(first.type, first.literal);
  throw new Problem(`write ${variants.map(typeInWords).join(' or ')}`);
};

/** A value of one variant of a union. */
export const unionLiteral = (type: LiteralType, value: Literal): Literal =>
  scalar({ case: 'union', value: { type, value } });

/**
 * The literal of a type for a value as JSON has it.
 *
 * @throws {Problem} when the type does not allow the value, or has no values that can be written.
 */
export const literalOf = ({ type }: LiteralType, value: unknown): Literal => {
  switch (type.case) {
    case 'simple':
      if (type.value !== SimpleType.NONE && value === null) throw new Problem('a value is needed');
      return SIMPLE[type.value](value);
    case 'collectionType': {
      if (!Array.isArray(value)) throw new Problem('write a list: [ … ]');
      const literals = value.map((each, at) => within(`element ${at + 1}`, type.value, each));
      return create(LiteralSchema, { value: { case: 'collection', value: { literals } } });
    }
    case 'mapValueType': {
      const entries = Object.entries(objectOf(value)).map(([key, each]) => [key, within(key, type.value, each)]);
      const literals = Object.fromEntries(entries) as Record<string, Literal>;
      return create(LiteralSchema, { value: { case: 'map', value: { literals } } });
    }
    case 'blob':
      return scalar({ case: 'blob', value: { uri: textOf(value), metadata: { type: type.value } } });
    case 'structuredDatasetType':
      return scalar({
        case: 'structuredDataset',
        value: { uri: textOf(value), metadata: { structuredDatasetType: type.value } },
      });
    case 'schema':
      return scalar({ case: 'schema', value: { uri: textOf(value), type: type.value } });
    case 'enumType':
      if (!type.value.values.includes(textOf(value)))
        throw new Problem(`choose one of ${type.value.values.join(', ')}`);
      return primitive({ case: 'stringValue', value: textOf(value) });
    case 'unionType':
      return firstThatFits(type.value.variants, value);
    default:
      throw new Problem('values of this type cannot be written');
  }
};
