import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from '@bufbuild/protobuf';

import { invalid } from '../../kernel/rpc.js';
import { isMisreadTime } from '../../kernel/values/calendar-day.js';

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'True', 'TRUE'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'False', 'FALSE'].map((text) => [text, false] as const),
]);

const SECOND = 1_000_000_000n;

const NANOSECONDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: SECOND,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Parses numbers with units, such as `1h30m` and `-1.5s`: existing clients write durations in a query this way. */
const durationJson = (name: string, text: string): string => {
  const match = /^([-+]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text);
  if (!match) throw invalid(name, `${JSON.stringify(text)} is not a duration such as 1h30m or 1.5s`);
  let nanoseconds = 0n;
  for (const [, whole, fraction, unit] of (match[2] ?? '').matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const scale = NANOSECONDS[unit ?? ''] ?? 0n;
    const digits = (fraction ?? '').slice(0, 18);
    nanoseconds += BigInt(whole ?? 0) * scale + (BigInt(digits || 0) * scale) / 10n ** BigInt(digits.length);
  }
  const seconds = nanoseconds / SECOND;
  return `${match[1] === '-' ? '-' : ''}${seconds}.${(nanoseconds % SECOND).toString().padStart(9, '0')}s`;
};

const INTEGER = /^[-+]?(\d+|0[xX][0-9a-fA-F]+)$/;

const integerJson = (name: string, text: string): string => {
  if (!INTEGER.test(text)) throw invalid(name, `${JSON.stringify(text)} is not a whole number`);
  const digits = text.replace(/^[-+]/, '');
  return `${text.startsWith('-') ? '-' : ''}${BigInt(digits)}`;
};

const enumJson = (name: string, type: DescEnum, text: string): JsonValue => {
  const number = INTEGER.test(text) ? Number(integerJson(name, text)) : undefined;
  const value = type.values.find((candidate) => candidate.name === text || candidate.number === number);
  if (!value) {
    const names = type.values.map((each) => each.name).join(', ');
    throw invalid(name, `${JSON.stringify(text)} is not one of ${names}`);
  }
  return value.number;
};

const scalarJson = (name: string, scalar: ScalarType, text: string): JsonValue => {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return text;
    case ScalarType.BOOL: {
      const value = BOOLEANS.get(text);
      if (value === undefined) throw invalid(name, `${JSON.stringify(text)} is neither true nor false`);
      return value;
    }
    default:
      return integerJson(name, text);
  }
};

const parsedJson = (name: string, text: string): JsonValue => {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw invalid(name, 'not JSON');
  }
};

const timeJson = (name: string, text: string): JsonValue => {
  if (isMisreadTime(text)) throw invalid(name, `${JSON.stringify(text)} is not a time such as 2026-03-02T09:58:16Z`);
  return text;
};

const asIs = (_name: string, text: string): JsonValue => text;

/** The message types whose JSON form is one value, which a parameter can give as text. */
const WELL_KNOWN: Readonly<Record<string, (name: string, text: string) => JsonValue>> = {
  'google.protobuf.Timestamp': timeJson,
  'google.protobuf.FieldMask': asIs,
  'google.protobuf.Duration': durationJson,
  'google.protobuf.Struct': parsedJson,
  'google.protobuf.Value': parsedJson,
};

const messageJson = (name: string, type: DescMessage, text: string): JsonValue => {
  const wellKnown = WELL_KNOWN[type.typeName];
  if (wellKnown) return wellKnown(name, text);
  const wrapped = /^google\.protobuf\.\w+Value$/.test(type.typeName) ? type.fields[0]?.scalar : undefined;
  if (wrapped === undefined) throw invalid(name, 'it is a message: give each of its fields, as PARAMETER.FIELD=VALUE');
  return scalarJson(name, wrapped, text);
};

/**
 * Converts the text of a path or query parameter to the JSON mapping of its field; for a list or map, of one element.
 *
 * @param name the field's path in the request, for errors: `sort_by.direction`.
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const valueJson = (field: DescField, name: string, text: string): JsonValue => {
  if (field.enum) return enumJson(name, field.enum, text);
  if (field.message) return messageJson(name, field.message, text);
  return scalarJson(name, field.scalar, text);
};
