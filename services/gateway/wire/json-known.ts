import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf';

/** Nesting that the decoder refuses, so that what is deeper is returned as it is. */
const MAX_DEPTH = 100;

const fieldsByName = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

const fieldsOf = (type: DescMessage): ReadonlyMap<string, DescField> => {
  const known = fieldsByName.get(type);
  if (known) return known;
  const fields = new Map(
    type.fields.flatMap((field) => [
      [field.name, field],
      [field.jsonName, field],
    ]),
  );
  fieldsByName.set(type, fields);
  return fields;
};

const inField = (field: DescField, json: JsonValue, keepUnknown: boolean, depth: number): JsonValue => {
  const { message } = field;
  if (!message || typeof json !== 'object' || json === null) return json;
  const known = (value: JsonValue): JsonValue => knownJson(message, value, keepUnknown, depth + 1);
  if (Array.isArray(json)) return json.map(known);
  if (field.fieldKind !== 'map') return known(json);
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, known(value)]));
};

/**
 * Copies the JSON of a message without nulls of members of a oneof, which set nothing, and, unless `keepUnknown`,
 * without names that the message does not have.
 */
export const knownJson = (type: DescMessage, json: JsonValue, keepUnknown: boolean, depth = 0): JsonValue => {
  // The JSON form of these types does not list their fields.
  if (depth > MAX_DEPTH || type.typeName.startsWith('google.protobuf.')) return json;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const fields = fieldsOf(type);
  return Object.fromEntries(
    Object.entries(json).flatMap(([key, value]) => {
      const field = fields.get(key);
      if (!field) return keepUnknown ? [[key, value]] : [];
      return field.oneof && value === null ? [] : [[key, inField(field, value, keepUnknown, depth)]];
    }),
  );
};
