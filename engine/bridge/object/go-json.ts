import { type DescMessage, type JsonObject, type MessageShape, toJson } from '@bufbuild/protobuf';
import { type Duration } from '@bufbuild/protobuf/wkt';

/** A launch that cannot be represented as an object; the message says why. */
export class UnfitLaunch extends Error {
  override readonly name = 'UnfitLaunch';
}

/** The JSON of a message for fields that the engine decodes with the JSON mapping of protobuf. */
export const protoJson = <Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): JsonObject =>
  toJson(desc, message) as JsonObject;

/**
 * The JSON of a message for fields that the engine decodes with Go's `encoding/json`: names as in the proto file, enums
 * as numbers.
 */
export const plainJson = <Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): JsonObject =>
  toJson(desc, message, { useProtoFieldName: true, enumAsInteger: true }) as JsonObject;

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
