import type { DescField, DescMessage, Message } from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';

const TIMESTAMP = 'google.protobuf.Timestamp';
const DURATION = 'google.protobuf.Duration';
/** Its times are not checked here: datetimes of literals are checked with the inputs, and reported by their names. */
const PRIMITIVE = 'platformidl.core.Primitive';

/** From 0001-01-01 to the end of 9999, in seconds since 1970; source: google/protobuf/timestamp.proto. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;
/** About 10,000 years in seconds; source: google/protobuf/duration.proto. */
const MAX_DURATION = 315_576_000_000;
const NANOS = 1_000_000_000;

type Time = { readonly seconds: bigint; readonly nanos: number };

/** True for a valid time or duration. Seconds beyond 2^53 may be rounded: they are out of range in any case. */
export type InRange = (seconds: number, nanos: number) => boolean;

/** The range check of `google.protobuf.Timestamp`. */
export const isTimestamp: InRange = (seconds, nanos) =>
  seconds >= FIRST_SECOND && seconds <= LAST_SECOND && nanos >= 0 && nanos < NANOS;

/** Seconds and nanoseconds must have the same sign. */
const isDuration: InRange = (seconds, nanos) =>
  Math.abs(seconds) <= MAX_DURATION &&
  Math.abs(nanos) < NANOS &&
  (seconds === 0 || nanos === 0 || seconds > 0 === nanos > 0);

const CHECKS: Readonly<Record<string, InRange>> = { [TIMESTAMP]: isTimestamp, [DURATION]: isDuration };

const innerOf = (field: DescField): DescMessage | undefined =>
  field.fieldKind === 'message' || field.fieldKind === 'list' || field.fieldKind === 'map' ? field.message : undefined;

/**
 * The range check for a field that holds a time or duration; `undefined` for other fields and for fields of literals.
 */
export const timeRangeOf = (field: DescField): InRange | undefined =>
  field.parent.typeName === PRIMITIVE ? undefined : CHECKS[innerOf(field)?.typeName ?? ''];

const holding = new WeakMap<DescMessage, boolean>();

const holdsTimes = (root: DescMessage): boolean => {
  const before = holding.get(root);
  if (before !== undefined) return before;
  const reached = new Set([root]);
  for (const { typeName, fields } of reached) {
    if (typeName === PRIMITIVE) continue;
    for (const inner of fields.map(innerOf)) if (inner) reached.add(inner);
  }
  const isSo = [...reached].some(({ typeName }) => typeName in CHECKS);
  holding.set(root, isSo);
  return isSo;
};

const knownFields = new WeakMap<DescMessage, readonly DescField[]>();

const fieldsWithTimes = (type: DescMessage): readonly DescField[] => {
  const mayHold = (field: DescField): boolean => {
    const inner = innerOf(field);
    return inner !== undefined && holdsTimes(inner);
  };
  const fields = knownFields.get(type) ?? type.fields.filter(mayHold);
  knownFields.set(type, fields);
  return fields;
};

const valuesOf = (message: ReflectMessage, field: DescField): Iterable<ReflectMessage> => {
  if (field.fieldKind === 'message') return [message.get(field)];
  if (field.fieldKind === 'list') return message.get(field) as Iterable<ReflectMessage>;
  return field.fieldKind === 'map' ? (message.get(field).values() as Iterable<ReflectMessage>) : [];
};

const wrongIn = (message: ReflectMessage): string | undefined => {
  for (const field of fieldsWithTimes(message.desc)) {
    if (!message.isSet(field)) continue;
    for (const value of valuesOf(message, field)) {
      const check = CHECKS[value.desc.typeName];
      const { seconds, nanos } = value.message as Message & Time;
      const isGood = check === undefined || check(Number(seconds), nanos);
      const inner = check === undefined ? wrongIn(value) : undefined;
      if (!isGood) return field.name;
      if (inner !== undefined) return `${field.name}.${inner}`;
    }
  }
  return undefined;
};

/** The path of the first time or duration in a message that is out of range; `undefined` when all are in range. */
export const timeOutOfRange = (schema: DescMessage, message: Message): string | undefined =>
  holdsTimes(schema) ? wrongIn(reflect(schema, message)) : undefined;
