import {
  create,
  createRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  fromJson,
  fromJsonString,
  type JsonObject,
  type JsonValue,
  mergeFromJson,
  type MessageShape,
} from '@bufbuild/protobuf';
import { EmptySchema } from '@bufbuild/protobuf/wkt';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { RpcError } from '../../kernel/rpc.js';
import { jsonFaultPath } from '../wire/json-fault.js';
import { mayBeMisread, toKnown } from '../wire/json-known.js';
import { messageJson } from '../../kernel/encoding/message-json.js';
import { services } from '../routes.js';
import { errorText } from '../../kernel/error-text.js';

const withDependencies = (file: DescFile): DescFile[] => [file, ...file.dependencies.flatMap(withDependencies)];

/** All messages of the interface, for the content of `Any` fields. */
const registry = createRegistry(...new Set(services.flatMap(({ file }) => withDependencies(file))));

// The field at fault of a body with more characters than this is not searched.
const MAX_SEARCHED_LENGTH = 1_000_000;

/** The end of the decoder's error for a text in a field of 64 bits that is no integer. */
const NOT_AN_INTEGER = ' (not an integer) out of range';

/** For a text that is no integer: the reason without its end, which says that a number is out of range. */
const withoutRange = (reason: string): string => {
  if (!reason.endsWith(NOT_AN_INTEGER)) return reason;
  const at = reason.indexOf(': ');
  const value = reason.slice(at + 2, -' out of range'.length);
  return `${reason.slice(0, at)}, got ${JSON.stringify(value)}`;
};

/** The reason that the decoder gives; for an enum also its values. */
const reasonOf = (thrown: unknown): string => {
  if (thrown instanceof RangeError) return 'out of range'; // of JavaScript, for a duration with too many decimals
  const text = errorText(thrown);
  const reason = withoutRange(text.replace(/^cannot decode (?:\w+ )?\S+ from JSON: /, ''));
  const [, name = ''] = /^cannot decode enum (\S+) from JSON: /u.exec(text) ?? [];
  const values = registry.getEnum(name)?.values.map((value) => value.name);
  return values === undefined ? reason : `${reason} is not one of ${values.join(', ')}`;
};

const refusal = (field: string, thrown: unknown): RpcError => {
  const reason = reasonOf(thrown);
  return new RpcError(
    'INVALID_ARGUMENT',
    field ? `invalid value for ${field}: ${reason}` : `invalid request: ${reason}`,
  );
};

/** The JSON type of a body that is no object, with its article; `undefined` for an object. */
const otherType = (json: JsonValue): string | undefined => {
  if (json === null) return 'null';
  if (Array.isArray(json)) return 'an array';
  return typeof json === 'object' ? undefined : `a ${typeof json}`;
};

const assertJson = (text: string): JsonValue => {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (thrown) {
    throw new RpcError('INVALID_ARGUMENT', `malformed JSON: ${thrown instanceof Error ? thrown.message : ''}`);
  }
};

/**
 * Reads a request from a JSON body; an empty body is an empty message.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the text is not JSON, has a value that the field cannot have, a field twice,
 * more than 100 nested messages, or, where `strict`, a name that the message does not have.
 */
export const readJson = (type: DescMessage, text: string, strict: boolean): MessageShape<DescMessage> => {
  if (text.trim() === '') return create(type);
  if (mayBeMisread(text)) return readKnown(type, text, strict);
  try {
    return fromJsonString(type, text, { registry });
  } catch {
    return readKnown(type, text, strict);
  }
};

/**
 * Reads what the decoder alone would misread: it rounds integers of many digits, takes `0x3` for 3, February 30 for a
 * day of March, 24:00 for the next day and `1s and more` for a second, refuses a null beside the set member of a oneof,
 * and ignores unknown values of enums where it ignores unknown names.
 */
const readKnown = (type: DescMessage, text: string, strict: boolean): MessageShape<DescMessage> => {
  const json = assertJson(text);
  const other = otherType(json);
  if (other !== undefined) throw refusal('', `the body is ${other}, and must be an object`);
  const known = toKnown(type, text, json, strict);
  try {
    fromJsonString(EmptySchema, text, { ignoreUnknownFields: true }); // refuses keys that an object has twice
    return fromJson(type, known, { registry });
  } catch (thrown) {
    const field = text.length > MAX_SEARCHED_LENGTH ? '' : jsonFaultPath(type, known, { registry });
    throw refusal(field, thrown);
  }
};

/**
 * Sets fields of a message from their JSON mapping.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const setFields = (type: DescMessage, message: MessageShape<DescMessage>, fields: JsonObject): void => {
  try {
    mergeFromJson(type, message, fields);
  } catch (thrown) {
    throw refusal(jsonFaultPath(type, fields, {}), thrown);
  }
};

/**
 * Wraps the body of RegisterProject where it is the project itself, recognized by `id` at the top level; the
 * documentation of the interface shows this form. Other bodies are returned unchanged.
 *
 * @throws {RpcError} INVALID_ARGUMENT when a body of RegisterProject is not JSON.
 */
export const withoutShortcut = (method: { readonly input: DescMessage }, text: string): string => {
  if (method !== AdminService.method.registerProject || text.trim() === '') return text;
  const json = assertJson(text);
  return typeof json === 'object' && json !== null && 'id' in json ? `{"project":${text}}` : text;
};

type Spelling = 'name' | 'jsonName';

const childJson = (field: DescField, json: JsonValue, spelling: Spelling): JsonValue => {
  const { message } = field;
  if (!message) return json;
  if (Array.isArray(json)) return json.map((element) => withNulls(message, element, spelling));
  if (field.fieldKind !== 'map' || typeof json !== 'object' || json === null) return withNulls(message, json, spelling);
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, withNulls(message, value, spelling)]));
};

/** Adds a null for each message field that is not set, as existing clients expect; members of a oneof are left out. */
const withNulls = (type: DescMessage, json: JsonValue, spelling: Spelling): JsonValue => {
  if (type.typeName.startsWith('google.protobuf.') || typeof json !== 'object' || json === null) return json;
  const from = json as JsonObject;
  const to: JsonObject = {};
  for (const field of type.fields) {
    const key = field[spelling];
    const value = from[key];
    if (value !== undefined) to[key] = childJson(field, value, spelling);
    else if (field.fieldKind === 'message' && !field.oneof) to[key] = null;
  }
  return to;
};

/** Writes a message as JSON, unset fields included, in snake_case (`name`) or lowerCamelCase (`jsonName`). */
export const writeJson = (type: DescMessage, message: MessageShape<DescMessage>, spelling: Spelling): string => {
  const json = messageJson(type, message, {
    registry,
    alwaysEmitImplicit: true,
    useProtoFieldName: spelling === 'name',
  });
  return JSON.stringify(withNulls(type, json, spelling));
};
