import { toJson } from '@bufbuild/protobuf';
import { base64Encode } from '@bufbuild/protobuf/wire';
import { type Timestamp, timestampDate, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { decode } from '@msgpack/msgpack';

import type { Binary, Literal, Primitive, Scalar } from '../../proto/gen/platformidl/core/literals_pb.js';
import { textOfDuration } from './duration-text.js';

const ofInteger = (value: bigint): number | string =>
  Number.isSafeInteger(Number(value)) ? Number(value) : String(value);

/** A number, as text where JSON has no such number (`NaN`, `Infinity`). */
const ofFloat = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

const NANOS_PER_MS = 1_000_000;

/** A time with its milliseconds, and with more digits where it is more exact. */
const ofTime = (at: Timestamp): unknown =>
  at.nanos % NANOS_PER_MS === 0 ? timestampDate(at).toISOString() : toJson(TimestampSchema, at);

const ofPrimitive = ({ value }: Primitive): unknown => {
  switch (value.case) {
    case 'integer':
      return ofInteger(value.value);
    case 'floatValue':
      return ofFloat(value.value);
    case 'datetime':
      return ofTime(value.value);
    case 'duration':
      return textOfDuration(value.value);
    default:
      return value.value;
  }
};

/** Replaces what MessagePack has and JSON has not. */
const asJson = (_key: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return ofInteger(value);
  if (typeof value === 'number') return ofFloat(value);
  return value instanceof Uint8Array ? base64Encode(value) : value;
};

/** The data in MessagePack, which dataclasses are; base64 for other bytes, also for those that are not valid. */
const ofBinary = ({ tag, value }: Binary): unknown => {
  if (tag !== 'msgpack') return base64Encode(value);
  try {
    return JSON.parse(JSON.stringify(decode(value, { useBigInt64: true }), asJson)) as unknown;
  } catch {
    return base64Encode(value);
  }
};

const ofScalar = ({ value }: Scalar): unknown => {
  switch (value.case) {
    case 'primitive':
      return ofPrimitive(value.value);
    case 'generic':
      return value.value;
    case 'binary':
      return ofBinary(value.value);
    case 'blob':
    case 'schema':
    case 'structuredDataset':
      return value.value.uri;
    case 'error':
      return value.value.message;
    case 'union':
      return value.value.value ? jsonOf(value.value.value) : null;
    default:
      return null;
  }
};

/** A literal as JSON, as a person would write it. */
export const jsonOf = ({ value }: Literal): unknown => {
  switch (value.case) {
    case 'scalar':
      return ofScalar(value.value);
    case 'collection':
      return value.value.literals.map(jsonOf);
    case 'map':
      return Object.fromEntries(Object.entries(value.value.literals).map(([key, each]) => [key, jsonOf(each)]));
    case 'offloadedMetadata':
      return value.value.uri;
    default:
      return null;
  }
};
