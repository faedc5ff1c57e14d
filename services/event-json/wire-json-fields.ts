import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { writeByte } from '../kernel/encoding/json-bytes.js';
import {
  endOf,
  enumShape,
  type ConversionState,
  scalarShape,
  throwUnusual,
  type ValueShape,
} from './wire-json-values.js';

export const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
export const OPEN = 0x7b;
export const CLOSE = 0x7d;

/**
 * Writes the field at the reader, with all its adjacent elements, up to `end`, the end of the message.
 *
 * @returns false when the value is the zero of its type.
 */
type WriteField = (state: ConversionState, end: number) => boolean;

/** The writer of a field, and the wire type that it expects. */
export type FieldShape = { readonly wireType: WireType; readonly write: WriteField };

/** Gives the writer of the messages of a type. */
export type Compile = (schema: DescMessage) => ValueShape;

const NEVER: ValueShape = { wireType: WireType.LengthDelimited, write: throwUnusual };

/** A field for which there is no writer, such as a map with numbers as keys: this one always throws. */
export const NO_FIELD: FieldShape = NEVER;

/** Moves past the tag when it comes next; false, without moving, when it does not. */
export const isNext = ({ reader, bytes }: ConversionState, tag: readonly number[], end: number): boolean => {
  if (reader.pos >= end) return false;
  for (let at = 0; at < tag.length; at += 1) if (bytes[reader.pos + at] !== tag[at]) return false;
  reader.pos += tag.length;
  return true;
};

/** Encodes a tag as it is on the wire, a varint. */
export const tagOf = (number: number, wireType: WireType): readonly number[] => {
  const bytes: number[] = [];
  let rest = number * 8 + wireType;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
};

/** A list whose elements follow one another, each with its tag. */
const list = ({ number }: DescField, { wireType, write }: ValueShape): WriteField => {
  const tag = tagOf(number, wireType);
  return (state, end) => {
    writeByte(state.json, OPEN_LIST);
    write(state);
    while (isNext(state, tag, end)) {
      writeByte(state.json, COMMA);
      write(state);
    }
    writeByte(state.json, CLOSE_LIST);
    return true;
  };
};

/** A packed list: the elements together, without tags; it may be empty. */
const packedList =
  ({ write }: ValueShape): WriteField =>
  (state) => {
    const { reader, json } = state;
    const end = endOf(state);
    const isEmpty = reader.pos === end;
    writeByte(json, OPEN_LIST);
    while (reader.pos < end) {
      write(state);
      writeByte(json, COMMA);
    }
    if (reader.pos !== end) throwUnusual();
    json.length -= 1; // the last comma; an empty list, which is left out, is taken back whole
    writeByte(json, CLOSE_LIST);
    return !isEmpty;
  };

const KEY_TAG = tagOf(1, WireType.LengthDelimited);
const { write: writeKey } = scalarShape(ScalarType.STRING);

/** Writes one entry of a map; returns its key, as JSON. */
const entry = ({ wireType, write }: ValueShape): ((state: ConversionState) => string) => {
  const valueTag = tagOf(2, wireType);
  return (state) => {
    const { json, reader } = state;
    const end = endOf(state);
    const start = json.length;
    if (!isNext(state, KEY_TAG, end)) throwUnusual();
    writeKey(state);
    const key = json.bytes.toString('latin1', start, json.length);
    writeByte(json, COLON);
    if (!isNext(state, valueTag, end)) throwUnusual();
    write(state);
    return reader.pos === end ? key : throwUnusual();
  };
};

/** A map with string keys. Entries with the same key, of which the last counts, are left to the library. */
const map = ({ number }: DescField, value: ValueShape): WriteField => {
  const tag = tagOf(number, WireType.LengthDelimited);
  const writeEntry = entry(value);
  return (state, end) => {
    const { json } = state;
    writeByte(json, OPEN);
    const keys = new Set([writeEntry(state)]);
    for (let count = 2; isNext(state, tag, end); count += 1) {
      writeByte(json, COMMA);
      if (keys.add(writeEntry(state)).size !== count) throwUnusual();
    }
    writeByte(json, CLOSE);
    return true;
  };
};

/** An enum with one value, which is `null` in JSON. */
const NULL = 'google.protobuf.NullValue';

const valueShape = (field: DescField, compile: Compile): ValueShape => {
  if (field.message) return compile(field.message);
  if (field.enum) return field.enum.open && field.enum.typeName !== NULL ? enumShape(field.enum) : NEVER;
  return scalarShape(field.scalar);
};

const isPacked = (field: DescField): boolean => field.fieldKind === 'list' && field.packed;

/** The writer of a field; `compile` gives the writers of messages in it. */
export const fieldShape = (field: DescField, compile: Compile): FieldShape => {
  const shape = valueShape(field, compile);
  if (isPacked(field)) return { wireType: WireType.LengthDelimited, write: packedList(shape) };
  if (field.fieldKind === 'list') return { wireType: shape.wireType, write: list(field, shape) };
  if (field.fieldKind !== 'map') return shape;
  return field.mapKey === ScalarType.STRING
    ? { wireType: WireType.LengthDelimited, write: map(field, shape) }
    : NO_FIELD;
};

/** True for a field that means the zero of its type, or an empty packed list, where it is absent on the wire. */
export const isImplicit = (field: DescField): boolean => {
  if (field.fieldKind === 'list') return isPacked(field);
  return field.fieldKind !== 'map' && field.oneof === undefined && field.presence === FeatureSet_FieldPresence.IMPLICIT;
};
