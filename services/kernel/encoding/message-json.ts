import {
  clone,
  type DescField,
  type DescMessage,
  type JsonValue,
  type JsonWriteOptions,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import {
  type Duration,
  DurationSchema,
  NullValue,
  type Timestamp,
  TimestampSchema,
  type Value,
  ValueSchema,
} from '@bufbuild/protobuf/wkt';

// The ranges of seconds and nanos that the types define: https://protobuf.dev/reference/protobuf/google.protobuf/
const YEAR_1 = -62_135_596_800n;
const YEAR_9999 = 253_402_300_799n;
const LONGEST = 315_576_000_000n;
const MAX_NANOS = 999_999_999;

const within = <Number extends number | bigint>(value: Number, low: Number, high: Number): Number => {
  if (value < low) return low;
  return value > high ? high : value;
};

const bringTimestampIn = (at: Timestamp): void => {
  at.seconds = within(at.seconds, YEAR_1, YEAR_9999);
  at.nanos = within(at.nanos, 0, MAX_NANOS);
};

const bringDurationIn = (span: Duration): void => {
  span.seconds = within(span.seconds, -LONGEST, LONGEST);
  const [low, high] = span.seconds < 0n ? [-MAX_NANOS, 0] : [span.seconds === 0n ? -MAX_NANOS : 0, MAX_NANOS];
  span.nanos = within(span.nanos, low, high);
};

/** Replaces a number that JSON lacks by its protobuf JSON text (`"NaN"`, `"Infinity"`), and an unset value by null. */
const spellOut = (value: Value): void => {
  const { kind } = value;
  if (kind.case === undefined) value.kind = { case: 'nullValue', value: NullValue.NULL_VALUE };
  else if (kind.case === 'numberValue' && !Number.isFinite(kind.value))
    value.kind = { case: 'stringValue', value: String(kind.value) };
};

const bringIn = ({ desc, message }: ReflectMessage): void => {
  if (desc.typeName === TimestampSchema.typeName) bringTimestampIn(message as Timestamp);
  else if (desc.typeName === DurationSchema.typeName) bringDurationIn(message as Duration);
  else if (desc.typeName === ValueSchema.typeName) spellOut(message as Value);
};

/** Corrects the messages in a field. `get` may return a copy of a message, so it is set again. */
const inField = (message: ReflectMessage, field: DescField): void => {
  if (field.fieldKind === 'message') {
    const inner = message.get(field);
    inside(inner);
    message.set(field, inner);
  } else if (field.fieldKind === 'list' && field.listKind === 'message') {
    for (const each of message.get(field)) inside(each as ReflectMessage);
  } else if (field.fieldKind === 'map' && field.mapKind === 'message') {
    for (const each of message.get(field).values()) inside(each as ReflectMessage);
  }
};

const inside = (message: ReflectMessage): void => {
  bringIn(message);
  for (const field of message.fields) if (message.isSet(field)) inField(message, field);
};

const representable = <Type extends DescMessage>(type: Type, message: MessageShape<Type>): MessageShape<Type> => {
  const copy = clone(type, message);
  inside(reflect(type, copy));
  return copy;
};

/**
 * Converts a message to JSON, with the nearest value for each time, duration and number that JSON cannot represent:
 * requests that were recorded as bytes may have such values.
 */
export const messageJson = <Type extends DescMessage>(
  type: Type,
  message: MessageShape<Type>,
  options: Partial<JsonWriteOptions>,
): JsonValue => {
  try {
    return toJson(type, message, options); // nearly always; only other messages are copied and searched
  } catch {
    return toJson(type, representable(type, message), options);
  }
};
