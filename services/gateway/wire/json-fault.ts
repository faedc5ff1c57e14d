import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonReadOptions,
  type JsonValue,
} from '@bufbuild/protobuf';

// The decoder refuses deeper nesting, so a fault is at this depth at the latest. Without the limit, the search of a
// very deep body overflows the stack.
const MAX_DEPTH = 100;

// A path with more names than this is shortened in its middle.
const MAX_PARTS = 24;

/** The decoding options, and the nesting depth of the search. */
type Search = { readonly options: Partial<JsonReadOptions>; readonly depth: number };

const decodes = (type: DescMessage, json: JsonValue, { options }: Search): boolean => {
  try {
    fromJson(type, json, options);
    return true;
  } catch {
    return false;
  }
};

const inField = (
  field: DescField,
  holder: { type: DescMessage; key: string },
  value: JsonValue,
  search: Search,
): string => {
  const { type, key } = holder;
  if (field.fieldKind === 'list' && Array.isArray(value)) {
    const at = value.findIndex((element) => !decodes(type, { [key]: [element] }, search));
    return at < 0 ? key : `${key}[${at}]${inside(field.message, value[at] as JsonValue, search)}`;
  }
  if (field.fieldKind === 'map' && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const entry = Object.entries(value).find(
      ([name, element]) => !decodes(type, { [key]: { [name]: element } }, search),
    );
    return entry ? `${key}[${entry[0]}]${inside(field.message, entry[1], search)}` : key;
  }
  return `${key}${inside(field.message, value, search)}`;
};

const inside = (type: DescMessage | undefined, json: JsonValue, { options, depth }: Search): string => {
  const path = type && depth < MAX_DEPTH ? pathIn(type, json, { options, depth: depth + 1 }) : '';
  return path === '' ? '' : `.${path}`;
};

/** The field that the object has under both of its names. */
const fieldGivenTwice = (type: DescMessage, json: JsonObject): string =>
  type.fields.find(
    ({ name, jsonName }) => name !== jsonName && json[name] !== undefined && json[jsonName] !== undefined,
  )?.name ?? '';

const pathIn = (type: DescMessage, json: JsonValue, search: Search): string => {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return '';
  if (type.typeName.startsWith('google.protobuf.')) return ''; // their JSON form does not list their fields
  const failing = Object.entries(json).find(([key, value]) => !decodes(type, { [key]: value }, search));
  if (!failing) return fieldGivenTwice(type, json);
  const [key, value] = failing;
  const field = type.fields.find(({ name, jsonName }) => name === key || jsonName === key);
  return field ? inField(field, { type, key }, value, search) : key;
};

/**
 * Finds the field of a JSON body that does not decode as its type, for example `spec.inputs.literals[x].scalar`. It
 * decodes parts of the body repeatedly.
 *
 * @returns the path; empty when the body as a whole is at fault.
 */
export const jsonFaultPath = (type: DescMessage, json: JsonValue, options: Search['options']): string => {
  const parts = pathIn(type, json, { options, depth: 1 }).split('.');
  const shown = parts.length > MAX_PARTS ? [...parts.slice(0, MAX_PARTS / 2), '…', ...parts.slice(-3)] : parts;
  return shown.join('.');
};
