import { type DescField, type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';

const innerOf = (field: DescField): DescMessage | undefined =>
  field.fieldKind === 'message' || field.fieldKind === 'list' || field.fieldKind === 'map' ? field.message : undefined;

/** Fields of a message type that are maps or may contain maps, by field number. */
type Fields = ReadonlyMap<number, DescField>;

const known = new WeakMap<DescMessage, boolean>();

/** True when a message of this type can contain a map at any depth. Most cannot, and then need no scan. */
const mayHaveMaps = (root: DescMessage): boolean => {
  const before = known.get(root);
  if (before !== undefined) return before;
  const reached = new Set([root]);
  for (const { fields } of reached) for (const inner of fields.map(innerOf)) if (inner) reached.add(inner);
  const isSo = [...reached].some(({ fields }) => fields.some(({ fieldKind }) => fieldKind === 'map'));
  known.set(root, isSo);
  return isSo;
};

const mayHold = (field: DescField): boolean => {
  const inner = innerOf(field);
  return field.fieldKind === 'map' || (inner !== undefined && mayHaveMaps(inner));
};

const fieldsOf = new WeakMap<DescMessage, Fields>();

const fieldsWithMaps = (type: DescMessage): Fields => {
  const fields = fieldsOf.get(type) ?? new Map(type.fields.filter(mayHold).map((field) => [field.number, field]));
  fieldsOf.set(type, fields);
  return fields;
};

/** A map entry: its key, and its byte range including the tag. */
type Entry = { readonly key: string; readonly start: number; readonly end: number };

const MAX_INDEX = 2 ** 32 - 2;

/**
 * The number of a key that is an array index; Infinity for another key. JavaScript always orders array indexes first in
 * an object, ascending, and no other order can be given to them.
 */
const indexOf = (key: string): number =>
  /^(?:0|[1-9]\d{0,9})$/u.test(key) && Number(key) <= MAX_INDEX ? Number(key) : Infinity;

const isBefore = (a: string, b: string): boolean => {
  const [one, other] = [indexOf(a), indexOf(b)];
  return one === other ? a < b : one < other;
};

/** Sorts the entries of a map in place. They are adjacent, and their total length is the same in any order. */
const sortEntries = (bytes: Uint8Array, entries: readonly Entry[]): void => {
  if (entries.every(({ key }, at) => at === 0 || !isBefore(key, entries[at - 1]?.key ?? ''))) return;
  let at = entries[0]?.start ?? 0;
  const from = at;
  const before = bytes.slice(from, entries.at(-1)?.end);
  for (const { start, end } of [...entries].sort((a, b) => (isBefore(a.key, b.key) ? -1 : 1))) {
    bytes.set(before.subarray(start - from, end - from), at);
    at += end - start;
  }
};

/** Reads a map entry, whose key comes first and is a text in all maps of the interface; sorts the maps in its value. */
const entryAt = (reader: BinaryReader, bytes: Uint8Array, start: number, value: DescMessage | undefined): Entry => {
  const end = reader.uint32() + reader.pos;
  reader.tag();
  const key = reader.string();
  if (value !== undefined && reader.pos < end) {
    reader.tag();
    sortMaps(value, reader, bytes, reader.uint32());
  }
  reader.pos = end;
  return { key, start, end };
};

/** Sorts the maps of the message at the reader, `length` bytes long and written by the protobuf library, in place. */
const sortMaps = (type: DescMessage, reader: BinaryReader, bytes: Uint8Array, length: number): void => {
  const fields = fieldsWithMaps(type);
  const end = reader.pos + length;
  const maps = new Map<number, Entry[]>();
  while (reader.pos < end) {
    const start = reader.pos;
    const [number, wireType] = reader.tag();
    const field = fields.get(number);
    const inner = field && innerOf(field);
    if (field?.fieldKind === 'map') {
      const entries = maps.get(number) ?? [];
      maps.set(number, entries);
      entries.push(entryAt(reader, bytes, start, inner && mayHaveMaps(inner) ? inner : undefined));
    } else if (inner) sortMaps(inner, reader, bytes, reader.uint32());
    else reader.skip(wireType, number);
  }
  for (const entries of maps.values()) sortEntries(bytes, entries);
};

/**
 * Canonical protobuf encoding of a message: map entries are ordered by key. The order of lists, and of fields that the
 * schema does not know, is kept.
 */
export const canonicalBytes = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array => {
  const bytes = toBinary(schema, message);
  if (mayHaveMaps(schema)) sortMaps(schema, new BinaryReader(bytes), bytes, bytes.length);
  return bytes;
};
