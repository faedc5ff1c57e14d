import { decode } from '@msgpack/msgpack';
import { base64Decode, base64Encode } from '@bufbuild/protobuf/wire';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

import type { Binary, Literal, Primitive, Scalar } from '../../proto/gen/platformidl/core/literals_pb.js';
import { durationText, lengthOf, msOf, utcText } from '../look/times.js';

/** The tag of binary values that are MessagePack, which dataclasses are. */
const MESSAGE_PACK = 'msgpack';

/** A literal in the form in which the console shows it: text, structured data, an address, or parts with names. */
export type DisplayValue =
  | { readonly kind: 'text'; readonly type: string; readonly text: string }
  | { readonly kind: 'data'; readonly type: string; readonly data: unknown }
  | { readonly kind: 'address'; readonly type: string; readonly address: string }
  | { readonly kind: 'parts'; readonly type: string; readonly parts: readonly (readonly [string, Literal])[] };

const text = (type: string, value: string): DisplayValue => ({ kind: 'text', type, text: value });

const moment = (at: Timestamp): string => utcText(msOf(at) ?? 0);

const span = (duration: Duration): string => durationText(lengthOf(duration) ?? 0);

const ofPrimitive = ({ value }: Primitive): DisplayValue => {
  switch (value.case) {
    case 'integer':
      return text('integer', String(value.value));
    case 'floatValue':
      return text('float', String(value.value));
    case 'stringValue':
      return text('text', value.value);
    case 'boolean':
      return text('boolean', String(value.value));
    case 'datetime':
      return text('datetime', moment(value.value));
    case 'duration':
      return text('duration', span(value.value));
    default:
      return text('nothing', '');
  }
};

const ofBinary = ({ tag, value }: Binary): DisplayValue => {
  if (tag !== MESSAGE_PACK) return text(`binary ${tag}`, `${value.length} bytes`);
  try {
    return { kind: 'data', type: 'data', data: decode(value, { useBigInt64: true }) };
  } catch {
    return text('binary', `${value.length} bytes that cannot be read as MessagePack`);
  }
};

const ofScalar = ({ value }: Scalar): DisplayValue => {
  switch (value.case) {
    case 'primitive':
      return ofPrimitive(value.value);
    case 'binary':
      return ofBinary(value.value);
    case 'generic':
      return { kind: 'data', type: 'struct', data: value.value };
    case 'blob':
      return { kind: 'address', type: `file ${value.value.metadata?.type?.format ?? ''}`, address: value.value.uri };
    case 'schema':
      return { kind: 'address', type: 'schema', address: value.value.uri };
    case 'structuredDataset':
      return { kind: 'address', type: 'dataset', address: value.value.uri };
    case 'error':
      return text('error', value.value.message);
    case 'union':
      return value.value.value ? displayValueOf(value.value.value) : text('nothing', '');
    default:
      return text('nothing', 'none');
  }
};

/** Converts a literal to the value that the console shows. */
export const displayValueOf = ({ value }: Literal): DisplayValue => {
  switch (value.case) {
    case 'scalar':
      return ofScalar(value.value);
    case 'collection':
      return { kind: 'parts', type: 'list', parts: value.value.literals.map((each, at) => [String(at), each]) };
    case 'map':
      return { kind: 'parts', type: 'map', parts: Object.entries(value.value.literals) };
    case 'offloadedMetadata':
      return { kind: 'address', type: `${value.value.sizeBytes} bytes elsewhere`, address: value.value.uri };
    default:
      return text('nothing', '');
  }
};

/** The data in base64 of MessagePack, as JSON text; `undefined` where it cannot be read as such. */
export const messagePackText = (base64: string): string | undefined => {
  try {
    return jsonText(decode(base64Decode(base64), { useBigInt64: true }));
  } catch {
    return undefined;
  }
};

/** Replaces what data can have and JSON cannot: bigints, whose digits a JSON number would lose, `NaN`, and bytes. */
const asJson = (_key: string, value: unknown): unknown => {
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) return String(value);
  return value instanceof Uint8Array ? base64Encode(value) : value;
};

/** Converts data to indented JSON text, with bigints, `NaN` and infinite numbers as text, and bytes in base64. */
export const jsonText = (data: unknown): string => JSON.stringify(data, asJson, 2);
