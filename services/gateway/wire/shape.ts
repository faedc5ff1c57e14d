import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

import { DELIMITED, FIXED32, FIXED64, VARINT } from '../../kernel/encoding/wire-cursor.js';
import { type InRange, timeRangeOf } from '../../kernel/values/time-range.js';

/** The content of a length-delimited field. `number` is never length-delimited; `packed` may be or not. */
type Inside = 'bytes' | 'text' | 'message' | 'time' | 'entry' | 'packed' | 'number';

/** The values that are valid under one field number. */
export type WireField = {
  readonly name: string;
  /** The wire type of one value. */
  readonly wireType: number;
  readonly inside: Inside;
  /** The fields of a message or map entry. */
  readonly shape: Shape;
  /** The range check of a time or duration. */
  readonly inRange?: InRange;
};

/** The fields of a message by number; fields with other numbers are unknown and skipped. */
export type Shape = Map<number, WireField>;

/** The wire types of the scalars that are no varints. */
const WIRE_TYPES: Readonly<Partial<Record<ScalarType, number>>> = {
  [ScalarType.DOUBLE]: FIXED64,
  [ScalarType.FIXED64]: FIXED64,
  [ScalarType.SFIXED64]: FIXED64,
  [ScalarType.FLOAT]: FIXED32,
  [ScalarType.FIXED32]: FIXED32,
  [ScalarType.SFIXED32]: FIXED32,
  [ScalarType.STRING]: DELIMITED,
  [ScalarType.BYTES]: DELIMITED,
};

const NONE: Shape = new Map();
const shapes = new WeakMap<DescMessage, Shape>();

const numberShape = (name: string, wireType: number, isList: boolean): WireField => ({
  name,
  wireType,
  inside: isList ? 'packed' : 'number',
  shape: NONE,
});

const scalarShape = (name: string, scalar: ScalarType, isList: boolean): WireField => {
  const wireType = WIRE_TYPES[scalar] ?? VARINT;
  if (wireType !== DELIMITED) return numberShape(name, wireType, isList);
  return { name, wireType, inside: scalar === ScalarType.STRING ? 'text' : 'bytes', shape: NONE };
};

const messageShape = (name: string, message: DescMessage): WireField => ({
  name,
  wireType: DELIMITED,
  inside: 'message',
  shape: shapeOf(message),
});

type ValueOf = { readonly scalar?: ScalarType | undefined; readonly message?: DescMessage | undefined };

const valueShape = (name: string, { scalar, message }: ValueOf, isList = false): WireField => {
  if (message) return messageShape(name, message);
  return scalar === undefined ? numberShape(name, VARINT, isList) : scalarShape(name, scalar, isList);
};

const fieldShape = (field: DescField): WireField => {
  const inRange = timeRangeOf(field);
  if (inRange && field.fieldKind !== 'map' && field.message)
    return { ...messageShape(field.name, field.message), inside: 'time', inRange };
  if (field.fieldKind !== 'map') return valueShape(field.name, field, field.fieldKind === 'list');
  const entry: Shape = new Map([
    [1, scalarShape('key', field.mapKey, false)],
    [2, valueShape('value', field)],
  ]);
  return { name: field.name, wireType: DELIMITED, inside: 'entry', shape: entry };
};

/** Returns the shape of a message type, which is built once and cached. */
export const shapeOf = (message: DescMessage): Shape => {
  const known = shapes.get(message);
  if (known) return known;
  const shape: Shape = new Map();
  shapes.set(message, shape); // set before its fields, because types may contain themselves
  for (const field of message.fields) shape.set(field.number, fieldShape(field));
  return shape;
};
