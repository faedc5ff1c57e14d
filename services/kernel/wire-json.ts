import type { DescField, DescMessage, Registry } from '@bufbuild/protobuf';
import { isWrapperDesc } from '@bufbuild/protobuf/wkt';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type JsonBytes, writeByte, writeKey } from './json-bytes.js';
import {
  CLOSE,
  COMMA,
  type Compile,
  type FieldShape,
  fieldShape,
  isImplicit,
  isNext,
  NO_FIELD,
  OPEN,
  tagOf,
} from './wire-json-fields.js';
import {
  endOf,
  libraryShape,
  MAX_DEPTH,
  type Passage,
  TIME,
  unusual,
  type ValueShape,
  type ValueWriter,
} from './wire-json-values.js';

/** Bits that tell which fields of a message were there; fields beyond are left to the library. */
const MAX_BITS = 31;

const TIMESTAMP = 'google.protobuf.Timestamp';
const CONTENT = 'platformidl.eventlog.Content';

/** Messages whose JSON is not that of their fields. */
const CUSTOM = /^google\.protobuf\.(?:Any|Duration|FieldMask|Struct|Value|ListValue)$/u;

type FieldWriter = FieldShape & {
  /** `"name":` */
  readonly key: Buffer;
  /** The members of a oneof share it: one of them can be there. */
  readonly bit: number;
  readonly isImplicit: boolean;
};

type Fields = ReadonlyMap<number, FieldWriter>;

/** The fields of a message; `own` is how some are written instead. */
const fieldsOf = (
  schema: DescMessage,
  compile: Compile,
  own: (field: DescField) => FieldShape | undefined = () => undefined,
): Fields => {
  const bits = new Map<unknown, number>();
  const fields = new Map<number, FieldWriter>();
  for (const field of schema.fields) {
    const place = field.oneof ?? field;
    const at = bits.get(place) ?? bits.size;
    bits.set(place, at);
    const shape = at < MAX_BITS ? (own(field) ?? fieldShape(field, compile)) : NO_FIELD;
    const key = Buffer.from(`${JSON.stringify(field.jsonName)}:`);
    fields.set(field.number, { ...shape, key, bit: 1 << at, isImplicit: isImplicit(field) });
  }
  return fields;
};

const writeField = (passage: Passage, field: FieldWriter, end: number): void => {
  const { json } = passage;
  const start = json.length;
  writeKey(json, field.key);
  if (field.write(passage, end) || !field.isImplicit) writeByte(json, COMMA);
  else json.length = start;
};

/** Writes the fields in the order in which they stand. What comes twice is merged or replaced, which is left to others. */
const writeFields = (passage: Passage, fields: Fields, end: number): void => {
  const { reader, json } = passage;
  writeByte(json, OPEN);
  const start = json.length;
  let seen = 0;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = fields.get(number);
    if (!field) {
      reader.skip(wireType, number, MAX_DEPTH - passage.depth);
      continue;
    }
    if (wireType !== field.wireType || (seen & field.bit) !== 0) unusual();
    seen |= field.bit;
    writeField(passage, field, end);
  }
  if (reader.pos !== end) unusual();
  if (json.length > start) json.length -= 1; // the last comma
  writeByte(json, CLOSE);
};

const shapeOf = (schema: DescMessage, registry: Registry, compile: Compile): ValueShape => {
  if (schema.typeName === TIMESTAMP) return TIME;
  if (CUSTOM.test(schema.typeName) || isWrapperDesc(schema)) return libraryShape(schema, registry);
  let fields: Fields | undefined;
  const write: ValueWriter = (passage) => {
    fields ??= fieldsOf(schema, compile); // no sooner, for messages can contain themselves
    const end = endOf(passage);
    passage.depth += 1;
    if (passage.depth >= MAX_DEPTH) unusual();
    writeFields(passage, fields, end);
    passage.depth -= 1;
    return true;
  };
  return { wireType: WireType.LengthDelimited, write };
};

const compiler = (registry: Registry): Compile => {
  const known = new Map<DescMessage, ValueShape>();
  const compile: Compile = (schema) => {
    const shape = known.get(schema) ?? shapeOf(schema, registry, compile);
    known.set(schema, shape);
    return shape;
  };
  return compile;
};

const INLINE_TAG = tagOf(1, WireType.LengthDelimited);

/** Content that stands in the event, opened; what lies beside it has to be fetched first, by others. */
const contentShape = (schemaOf: (event: Uint8Array) => DescMessage | undefined, compile: Compile): FieldShape => ({
  wireType: WireType.LengthDelimited,
  write: (passage) => {
    const schema = schemaOf(passage.bytes);
    const end = endOf(passage);
    if (!schema || !isNext(passage, INLINE_TAG, end)) return unusual();
    compile(schema).write(passage);
    return passage.reader.pos === end || unusual();
  },
});

/** Which message the bytes of a content in a field of an event are; `undefined` where they are none that is known. */
export type Opens = (field: DescField, event: Uint8Array) => DescMessage | undefined;

/** Writes an encoded event; answers whether it has. In an odd encoding it has not, and what it leaves is to be dropped. */
export type WireJson = (event: Uint8Array, json: JsonBytes) => boolean;

/**
 * What writes events of a type in the interface's JSON mapping, with the contents in them opened, right from their
 * encoding: at a fifth of the price of the library, which makes objects of everything twice. It writes what encoders
 * usually make; what is unusual, and what is not a message at all, is left to the library.
 */
export const wireJson = (schema: DescMessage, registry: Registry, opens: Opens): WireJson => {
  const compile = compiler(registry);
  const fields = fieldsOf(schema, compile, (field) =>
    field.fieldKind === 'message' && field.message.typeName === CONTENT
      ? contentShape((event) => opens(field, event), compile)
      : undefined,
  );
  return (bytes, json) => {
    try {
      writeFields({ reader: new BinaryReader(bytes), bytes, json, depth: 0 }, fields, bytes.length);
      return true;
    } catch {
      return false; // the library says what is wrong with it, if anything is
    }
  };
};
