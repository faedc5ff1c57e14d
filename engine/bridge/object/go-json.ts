import {
  type DescMessage,
  type JsonObject,
  type JsonWriteOptions,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';
import { type Duration } from '@bufbuild/protobuf/wkt';

/** A launch that cannot be represented as an object; the message says why. */
export class UnfitLaunch extends Error {
  override readonly name = 'UnfitLaunch';
}

const json = <Desc extends DescMessage>(
  desc: Desc,
  message: MessageShape<Desc>,
  options: Partial<JsonWriteOptions>,
): JsonObject => {
  try {
    return toJson(desc, message, options) as JsonObject;
  } catch (cause) {
    throw new UnfitLaunch(`${desc.name} has no JSON: ${cause instanceof Error ? cause.message : ''}`, { cause });
  }
};

/**
 * The JSON of a message for fields that the engine decodes with the JSON mapping of protobuf.
 *
 * @throws {UnfitLaunch} for a value that JSON lacks, such as NaN in a struct.
 */
export const protoJson = <Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): JsonObject =>
  json(desc, message, {});

/**
 * The JSON of a message for fields that the engine decodes with Go's `encoding/json`: names as in the proto file, enums
 * as numbers.
 *
 * @throws {UnfitLaunch} as {@link protoJson}.
 */
export const plainJson = <Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): JsonObject =>
  json(desc, message, { useProtoFieldName: true, enumAsInteger: true });

/** Copies an object without its undefined properties. */
export const withoutUndefined = (properties: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  );

/** The text itself, or `undefined` for an empty one, which Go omits. */
export const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

const NANOS = 1_000_000_000n;
/** The longest duration in Go: signed 64 bits of nanoseconds. */
const LONGEST = 2n ** 63n - 1n;

/** A duration in the syntax of Go, capped at the longest one of Go. */
export const goDuration = ({ seconds, nanos }: Duration, times = 1n): string => {
  const total = times * (seconds * NANOS + BigInt(nanos));
  const kept = total > LONGEST ? LONGEST : total;
  return kept % NANOS === 0n ? `${kept / NANOS}s` : `${kept}ns`;
};

const MAX_QUANTITY_LENGTH = 64;
const QUANTITY = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2}|[numkMGTPE]|[KMGTPE]i)?$/u;

/**
 * Validates a quantity of Kubernetes and returns it unchanged.
 *
 * @throws {UnfitLaunch} for another text: one object with it would prevent the engine from listing any object.
 */
export const quantityText = (text: string): string => {
  if (text.length <= MAX_QUANTITY_LENGTH && QUANTITY.test(text)) return text;
  throw new UnfitLaunch(`${JSON.stringify(text)} is not a quantity of Kubernetes`);
};

/** True for `0`, `0Gi` and other quantities of zero. */
export const isZero = (quantity: string): boolean => Number.parseFloat(quantity) === 0;
