import { clone, type DescField, type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { reflect, type ReflectMap, type ReflectMessage } from '@bufbuild/protobuf/reflect';

const byKey = ([a]: [unknown, unknown], [b]: [unknown, unknown]): number => (String(a) < String(b) ? -1 : 1);

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
  for (const field of message.fields.filter((each) => message.isSet(each))) {
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
