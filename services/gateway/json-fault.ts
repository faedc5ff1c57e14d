import { type DescField, type DescMessage, fromJson, type JsonReadOptions, type JsonValue } from '@bufbuild/protobuf';

// Looking for the place decodes parts of the body again and again; a body larger than this is not searched.
const MAX_SEARCHED_LENGTH = 1_000_000;

type Options = Partial<JsonReadOptions>;

const decodes = (type: DescMessage, json: JsonValue, options: Options): boolean => {
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
  options: Options,
): string => {
  const { type, key } = holder;
  if (field.fieldKind === 'list' && Array.isArray(value)) {
    const at = value.findIndex((element) => !decodes(type, { [key]: [element] }, options));
    return at < 0 ? key : `${key}[${at}]${inside(field.message, value[at] as JsonValue, options)}`;
  }
  if (field.fieldKind === 'map' && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const entry = Object.entries(value).find(
      ([name, element]) => !decodes(type, { [key]: { [name]: element } }, options),
    );
    return entry ? `${key}[${entry[0]}]${inside(field.message, entry[1], options)}` : key;
  }
  return `${key}${inside(field.message, value, options)}`;
};

const inside = (type: DescMessage | undefined, json: JsonValue, options: Options): string => {
  const path = type ? pathIn(type, json, options) : '';
  return path === '' ? '' : `.${path}`;
};

const pathIn = (type: DescMessage, json: JsonValue, options: Options): string => {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return '';
  if (type.typeName.startsWith('google.protobuf.')) return ''; // their JSON is not made of their fields
  const failing = Object.entries(json).find(([key, value]) => !decodes(type, { [key]: value }, options));
  if (!failing) return '';
  const [key, value] = failing;
  const field = type.fields.find(({ name, jsonName }) => name === key || jsonName === key);
  return field ? inField(field, { type, key }, value, options) : key;
};

/**
 * The place in a JSON body that keeps it from being a message of a type: `spec.inputs.literals[x].scalar`.
 *
 * @returns the empty string when it is the body as a whole, or when the body is too large to be searched.
 */
export const jsonFaultPath = (type: DescMessage, text: string, options: Options): string => {
  if (text.length > MAX_SEARCHED_LENGTH) return '';
  return pathIn(type, JSON.parse(text) as JsonValue, options);
};
