import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

/** How a value stands on the wire. */
export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const GROUP_START = 3;
export const GROUP_END = 4;
export const FIXED32 = 5;

/** What stands between the length and the end of a length-delimited field. */
type Inside = 'bytes' | 'text' | 'message' | 'entry' | 'packed';

/** What the wire may hold under one field number. */
export type FieldShape = {
  readonly name: string;
  /** The wire type of one value. */
  readonly wireType: number;
  readonly inside: Inside;
  /** The fields of a message or map entry. */
  readonly shape: Shape;
};

/** The fields of a message by number; a number that is not there is unknown, and skipped. */
export type Shape = Map<number, FieldShape>;

const FIXED: Readonly<Partial<Record<ScalarType, number>>> = {
  [ScalarType.DOUBLE]: FIXED64,
  [ScalarType.FIXED64]: FIXED64,
  [ScalarType.SFIXED64]: FIXED64,
  [ScalarType.FLOAT]: FIXED32,
  [ScalarType.FIXED32]: FIXED32,
  [ScalarType.SFIXED32]: FIXED32,
  [ScalarType.STRING]: LENGTH,
  [ScalarType.BYTES]: LENGTH,
};

const NONE: Shape = new Map();
const shapes = new WeakMap<DescMessage, Shape>();

const scalarShape = (name: string, scalar: ScalarType): FieldShape => {
  const wireType = FIXED[scalar] ?? VARINT;
  const inside = wireType !== LENGTH ? 'packed' : scalar === ScalarType.STRING ? 'text' : 'bytes';
  return { name, wireType, inside, shape: NONE };
};

const enumShape = (name: string): FieldShape => ({ name, wireType: VARINT, inside: 'packed', shape: NONE });

const messageShape = (name: string, message: DescMessage): FieldShape => ({
  name,
  wireType: LENGTH,
  inside: 'message',
  shape: shapeOf(message),
});

type ValueOf = { readonly scalar?: ScalarType | undefined; readonly message?: DescMessage | undefined };

const valueShape = (name: string, { scalar, message }: ValueOf): FieldShape => {
  if (message) return messageShape(name, message);
  return scalar === undefined ? enumShape(name) : scalarShape(name, scalar);
};

const fieldShape = (field: DescField): FieldShape => {
  if (field.fieldKind !== 'map') return valueShape(field.name, field);
  const entry: Shape = new Map([
    [1, scalarShape('key', field.mapKey)],
    [2, valueShape('value', field)],
  ]);
  return { name: field.name, wireType: LENGTH, inside: 'entry', shape: entry };
};

/** The shape of a message type, made once and kept. */
export const shapeOf = (message: DescMessage): Shape => {
  const known = shapes.get(message);
  if (known) return known;
  const shape: Shape = new Map();
  shapes.set(message, shape); // before its fields: types may contain themselves
  for (const field of message.fields) shape.set(field.number, fieldShape(field));
  return shape;
};
