import {
  clone,
  create,
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/**
 * One changed request, malformed or still valid: a description, its bytes, and the field that its refusal must name, if
 * there is such a field.
 */
export type Hostile = { readonly what: string; readonly bytes: Uint8Array; readonly names?: string };

/** The length of a text or of bytes that are too long. */
const LONG = 100_000;
/** The number of entries of a huge map or list. */
const MANY = 5_000;
/** The number of levels of a message that is nested too deep. */
const DEPTH = 1_000;
/** The number of levels of a request down to which fields are changed. */
const MAX_PATH = 5;

/** Names the change of a text to one with NUL characters. */
export const NUL_BYTES = 'NUL bytes';

/** Texts that a field is set to, by the description of the change. */
const TEXTS: Readonly<Record<string, string>> = {
  missing: '',
  'too long': 'a'.repeat(LONG),
  [NUL_BYTES]: 'a\0b\0',
  'a way out of a folder': '../../../../etc/passwd',
  'an end of a query': `'; DROP TABLE documents; --`,
  'a separator of identifiers': 'a:b/c%2Fd+e(f,g)',
  'controls and directions': '\r\n\t\u001b[2J\u202Eabc\u200B',
  'letters of other planes': '💥ÀƒſK'.repeat(20),
};

// The text in a field that is to have invalid UTF-8: its bytes are overwritten after the request is encoded. No request
// has this text otherwise.
const MARK = '\u0001invalid-utf8\u0001';

/** The bytes with {@link MARK} overwritten by bytes that are no UTF-8. */
const withoutUtf8 = (bytes: Uint8Array): Uint8Array => {
  const at = Buffer.from(bytes).indexOf(MARK);
  const changed = Uint8Array.from(bytes);
  changed.fill(0xff, at, at + MARK.length);
  return changed;
};

/** Extreme and negative numbers of each type, and NaN. */
const NUMBERS: Readonly<Partial<Record<ScalarType, readonly (number | bigint)[]>>> = {
  [ScalarType.INT32]: [-1, 2_147_483_647, -2_147_483_648],
  [ScalarType.UINT32]: [4_294_967_295],
  [ScalarType.INT64]: [-1n, 9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n],
  [ScalarType.UINT64]: [18_446_744_073_709_551_615n],
  [ScalarType.DOUBLE]: [NaN, -Infinity, 1e308],
  [ScalarType.FLOAT]: [NaN, -Infinity],
};

/** The greatest number of fields in a path from a type to itself. */
const MAX_CYCLE_FIELDS = 4;

/**
 * The shortest path, of at most {@link MAX_CYCLE_FIELDS} fields, by which a type contains itself; `undefined` for a
 * type without one.
 */
const pathToItself = (type: DescMessage): readonly DescField[] | undefined => {
  let paths: (readonly DescField[])[] = [[]];
  for (let length = 0; length < MAX_CYCLE_FIELDS; length++) {
    paths = paths.flatMap((path) => {
      const from = path.at(-1)?.message ?? type;
      return from.fields.filter(({ message }) => message !== undefined).map((field) => [...path, field]);
    });
    const back = paths.find((path) => path.at(-1)?.message === type);
    if (back !== undefined) return back;
  }
  return undefined;
};

/** A message that contains itself to the depth {@link DEPTH}, by the path that `pathToItself` finds. */
const nested = (type: DescMessage): Uint8Array | undefined => {
  const path = pathToItself(type);
  if (path === undefined) return undefined;
  let bytes: Uint8Array = new Uint8Array();
  for (let level = 0; level < DEPTH; level++) {
    for (const { number } of [...path].reverse()) {
      bytes = new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
    }
  }
  return bytes;
};

/** The results of `nested`. */
const nestedByType = new Map<DescMessage, Uint8Array | undefined>();

/** A message nested in itself a thousand deep; `undefined` when `pathToItself` finds none. */
const deep = (type: DescMessage): Uint8Array | undefined => {
  if (!nestedByType.has(type)) nestedByType.set(type, nested(type));
  return nestedByType.get(type);
};

/** Sets raw bytes for a field, whatever its type is. */
const putRaw = (message: Message, no: number, wireType: WireType, data: Uint8Array): void => {
  message.$unknown = [...(message.$unknown ?? []), { no, wireType, data }];
};

/** A change of the message that has the field; `names` is the field that a refusal must name. */
type Change = { readonly what: string; readonly names?: string; readonly make: (of: ReflectMessage) => void };

/** A change that sets a field to a value. */
const setting = (field: DescField, what: string, value: unknown): Change => ({
  what,
  make: (of) => of.set(field, value),
});

const textChanges = (field: DescField): readonly Change[] => [
  ...Object.entries(TEXTS).map(([what, text]) => setting(field, what, text)),
  { ...setting(field, 'invalid UTF-8', MARK), names: field.name },
];

const scalarChanges = (field: DescField & { readonly fieldKind: 'scalar' }): readonly Change[] => {
  if (field.scalar === ScalarType.STRING) return textChanges(field);
  if (field.scalar === ScalarType.BYTES) return [setting(field, 'too long', new Uint8Array(LONG).fill(0xff))];
  return (NUMBERS[field.scalar] ?? []).map((value) => setting(field, String(value), value));
};

const enumChanges = (field: DescField & { readonly fieldKind: 'enum' }): readonly Change[] => [
  setting(field, 'no such value', 9_999), // no enum has this number
  setting(field, 'a negative value', -1),
  ...field.enum.values.map(({ name, number }) => setting(field, name, number)),
];

const manyEntries = (field: DescField & { readonly fieldKind: 'map' }): Change => ({
  what: 'a huge map',
  make: (of) => {
    const map = of.get(field);
    for (let i = 0; i < MANY; i++) {
      if (field.mapKind === 'scalar') map.set(`key-${i}`, field.scalar === ScalarType.STRING ? 'value' : 1);
      else if (field.mapKind === 'message') map.set(`key-${i}`, reflect(field.message));
    }
  },
});

const manyElements = (field: DescField & { readonly fieldKind: 'list' }): Change => ({
  what: 'a huge list',
  make: (of) => {
    const list = of.get(field);
    for (let i = 0; i < MANY; i++) {
      if (field.listKind === 'message') list.add(reflect(field.message));
      else if (field.listKind === 'scalar' && field.scalar === ScalarType.STRING) list.add(`element-${i}`);
    }
  },
});

const messageChanges = (field: DescField & { readonly fieldKind: 'message' }): readonly Change[] => [
  { what: 'missing', make: (of) => of.clear(field) },
  { what: 'empty', make: (of) => of.set(field, reflect(field.message)) },
];

const kindChanges = (field: DescField): readonly Change[] => {
  switch (field.fieldKind) {
    case 'scalar':
      return scalarChanges(field);
    case 'enum':
      return enumChanges(field);
    case 'map':
      return [manyEntries(field)];
    case 'list':
      return [manyElements(field)];
    case 'message':
      return messageChanges(field);
  }
};

const isPackable = (field: DescField): boolean =>
  field.fieldKind === 'list' && field.listKind !== 'message' && field.packed;

/** Writes the field with the wire type of 32-bit numbers, which only a float has among the fields of requests. */
const wrongWireType = (field: DescField): Change => ({
  what: 'a wrong wire type',
  names: field.name,
  make: (of) => {
    of.clear(field);
    putRaw(of.message, field.number, WireType.Bit32, new Uint8Array(4));
  },
});

const isFixed32 = (field: DescField): boolean => field.scalar === ScalarType.FLOAT;

/** The change of a message field to a message that is nested too deep, if its type can be. */
const tooDeep = (field: DescField): readonly Change[] => {
  const inner = field.fieldKind === 'message' ? deep(field.message) : undefined;
  if (inner === undefined) return [];
  const data = new BinaryWriter().bytes(inner).finish();
  return [{ what: 'too deep', make: (of) => putRaw(of.message, field.number, WireType.LengthDelimited, data) }];
};

const changesOf = (field: DescField): readonly Change[] => [
  ...kindChanges(field),
  ...(isPackable(field) || isFixed32(field) ? [] : [wrongWireType(field)]),
  ...tooDeep(field),
];

/** Finds the message at the end of a path of message fields; the root for an empty path. */
const within = (root: ReflectMessage, path: readonly DescField[]): ReflectMessage =>
  path.reduce((of, field) => of.get(field) as ReflectMessage, root);

/** False for wrappers and structs, which are not messages in memory. */
const isPlain = ({ typeName }: DescMessage): boolean => !/^google\.protobuf\.(?:\w*Value|Struct)$/u.test(typeName);

/** The paths of all fields of a message and of the messages in it. */
const pathsOf = (of: ReflectMessage, parent: readonly DescField[] = []): readonly (readonly DescField[])[] =>
  of.fields.flatMap((field) => {
    const path = [...parent, field];
    const isEntered = field.fieldKind === 'message' && isPlain(field.message) && path.length < MAX_PATH;
    return isEntered && of.isSet(field) ? [path, ...pathsOf(of.get(field), path)] : [path];
  });

const nameOf = (path: readonly DescField[]): string => path.map(({ name }) => name).join('.');

/** The request with one change of the field at a path. */
const changed = (type: DescMessage, base: Message, path: readonly DescField[], change: Change): Hostile => {
  const message = clone(type, base);
  change.make(within(reflect(type, message), path.slice(0, -1)));
  const bytes = toBinary(type, message);
  const { what, names } = change;
  return {
    what: `${nameOf(path)}: ${what}`,
    bytes: what === 'invalid UTF-8' ? withoutUtf8(bytes) : bytes,
    ...(names !== undefined && { names }),
  };
};

/** The encoded request, cut after some of its bytes. */
const cutShort = (bytes: Uint8Array): readonly Hostile[] =>
  [1, 2, 3, 5, 8, 13, 21, Math.floor(bytes.length / 2), bytes.length - 1]
    .filter((length) => length > 0 && length < bytes.length)
    .map((length) => ({ what: `cut to ${length} bytes`, bytes: bytes.subarray(0, length) }));

/** Variants of the encoded request as a whole. */
const wholeVariants = (type: DescMessage, base: Message): readonly Hostile[] => {
  const bytes = toBinary(type, base);
  const UNKNOWN_FIELD = 19_999; // a number that no message uses
  const unknown = new BinaryWriter().tag(UNKNOWN_FIELD, WireType.LengthDelimited).string('unknown field').finish();
  return [
    { what: 'nothing', bytes: new Uint8Array() },
    { what: 'an unknown field', bytes: Buffer.concat([bytes, unknown]) },
    { what: 'noise', bytes: Uint8Array.from({ length: 64 }, (_, i) => (i * 151 + 7) % 256) },
    { what: 'twice in a row', bytes: Buffer.concat([bytes, bytes]) },
    ...cutShort(bytes),
  ];
};

/** Variants of a request with one change each, derived from its descriptor; some of them are still valid. */
export const hostileTo = (type: DescMessage, base: Message = create(type)): readonly Hostile[] => [
  ...pathsOf(reflect(type, base)).flatMap((path) =>
    changesOf(path.at(-1)!).map((change) => changed(type, base, path, change)),
  ),
  ...wholeVariants(type, base),
];
