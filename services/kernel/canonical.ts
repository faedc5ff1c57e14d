import { clone, type DescField, type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { reflect, type ReflectMap, type ReflectMessage } from '@bufbuild/protobuf/reflect';

const byKey = ([a]: [unknown, unknown], [b]: [unknown, unknown]): number => (String(a) < String(b) ? -1 : 1);

const innerOf = (field: DescField): DescMessage | undefined =>
  field.fieldKind === 'message' || field.fieldKind === 'list' || field.fieldKind === 'map' ? field.message : undefined;

const known = new WeakMap<DescMessage, boolean>();

/** Whether a message of a type can have a map anywhere in it; most have not, and need no look. */
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

const fieldsOf = new WeakMap<DescMessage, readonly DescField[]>();

/** The fields of a type that have maps in them, or are maps. */
const fieldsWithMaps = (type: DescMessage): readonly DescField[] => {
  const fields = fieldsOf.get(type) ?? type.fields.filter(mayHold);
  fieldsOf.set(type, fields);
  return fields;
};

const sortMap = (map: ReflectMap): void => {
  const entries = [...map].sort(byKey);
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
};

/** A `google.protobuf.Struct` is plain JSON in its message, and is handed out as a copy: so it is put back. */
const sortField = (message: ReflectMessage, field: DescField & { fieldKind: 'message' }): void => {
  const inner = message.get(field);
  sortMaps(inner);
  message.set(field, inner);
};

const sortMaps = (message: ReflectMessage): void => {
  for (const field of fieldsWithMaps(message.desc)) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === 'message') sortField(message, field);
    if (field.fieldKind === 'list' && field.listKind === 'message') sortEach(message.get(field));
    if (field.fieldKind === 'map') sortMap(message.get(field));
    if (field.fieldKind === 'map' && field.mapKind === 'message') sortEach(message.get(field).values());
  }
};

const sortEach = (messages: Iterable<unknown>): void => {
  for (const message of messages) sortMaps(message as ReflectMessage);
};

/**
 * One form for all encodings of a message: map entries in the order of their keys. The order of lists counts, and
 * fields that the schema does not know stay where they are.
 */
export const canonicalBytes = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array => {
  const copy = clone(schema, message);
  sortMaps(reflect(schema, copy));
  return toBinary(schema, copy);
};
