import { type DescMessage, type JsonObject, type MessageShape, toJson } from '@bufbuild/protobuf';
import { type Duration } from '@bufbuild/protobuf/wkt';

/** A launch that no object can hold; the message says why. */
export class UnfitLaunch extends Error {
  override readonly name = 'UnfitLaunch';
}

/** The JSON of a message as the engine reads it where its types have a decoder for protobuf. */
export const protoJson = <Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): JsonObject =>
  toJson(desc, message) as JsonObject;

/** The JSON of a message as the engine reads it with Go's own decoder: names as in the proto file, enums as numbers. */
export const plainJson = <Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): JsonObject =>
  toJson(desc, message, { useProtoFieldName: true, enumAsInteger: true }) as JsonObject;

/** An object without the properties that are undefined. */
export const given = (properties: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  );

/** A text; `undefined` for an empty one, which Go leaves out. */
export const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

const NANOS = 1_000_000_000n;
/** Go counts nanoseconds in 64 bits. */
const LONGEST = 2n ** 63n - 1n;

/** A duration as Go parses it; longer ones than Go knows are cut. */
export const durationText = ({ seconds, nanos }: Duration, times = 1n): string => {
  const total = times * (seconds * NANOS + BigInt(nanos));
  const kept = total > LONGEST ? LONGEST : total;
  return kept % NANOS === 0n ? `${kept / NANOS}s` : `${kept}ns`;
};

const MAX_QUANTITY_LENGTH = 64;
const QUANTITY = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2}|[numkMGTPE]|[KMGTPE]i)?$/u;

/**
 * A quantity of Kubernetes, unchanged.
 *
 * @throws {UnfitLaunch} for another text: one object with it would keep an engine from reading any object.
 */
export const quantityText = (text: string): string => {
  if (text.length <= MAX_QUANTITY_LENGTH && QUANTITY.test(text)) return text;
  throw new UnfitLaunch(`${JSON.stringify(text)} is not a quantity of Kubernetes`);
};

/** True for `0`, `0Gi` and other quantities of nothing. */
export const isNothing = (quantity: string): boolean => Number.parseFloat(quantity) === 0;
