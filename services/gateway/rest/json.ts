import {
  create,
  createRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  fromJsonString,
  type JsonObject,
  type JsonValue,
  type JsonWriteOptions,
  mergeFromJson,
  type MessageShape,
  toJson,
} from '@bufbuild/protobuf';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { RpcError } from '../../kernel/rpc.js';
import { jsonFaultPath } from '../wire/json-fault.js';
import { representable } from '../wire/json-representable.js';
import { services } from '../routes.js';

const withDependencies = (file: DescFile): DescFile[] => [file, ...file.dependencies.flatMap(withDependencies)];

/** Every message of the interface, for what is packed into an `Any`. */
const registry = createRegistry(...new Set(services.flatMap(({ file }) => withDependencies(file))));

const refusal = (field: string, thrown: unknown): RpcError => {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const why = text.replace(/^cannot decode (?:\w+ )?\S+ from JSON: /, '');
  return new RpcError('INVALID_ARGUMENT', field ? `invalid value for ${field}: ${why}` : `invalid request: ${why}`);
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
 * @throws {RpcError} INVALID_ARGUMENT naming the place: not JSON, a value that the field cannot have, a field given
 * twice, nested deeper than 100 messages, and, where `strict`, a name that the message does not have.
 */
export const readJson = (type: DescMessage, text: string, strict: boolean): MessageShape<DescMessage> => {
  if (text.trim() === '') return create(type);
  const options = { registry, ignoreUnknownFields: !strict };
  try {
    return fromJsonString(type, text, options);
  } catch (thrown) {
    assertJson(text);
    throw refusal(jsonFaultPath(type, text, options), thrown);
  }
};

/**
 * Sets the fields that path and query have given.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field.
 */
export const setFields = (type: DescMessage, message: MessageShape<DescMessage>, fields: JsonObject): void => {
  try {
    mergeFromJson(type, message, fields);
  } catch (thrown) {
    throw refusal(jsonFaultPath(type, JSON.stringify(fields), {}), thrown);
  }
};

/**
 * RegisterProject takes its project bare as well: a body whose top level has `id` is the project itself, because the
 * interface's documentation shows it so.
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

/** Adds a null for each message that is not set, as existing clients see it; members of a oneof stay away. */
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

/** Nearly all messages have a JSON form, so they are not looked through for what has none. */
const jsonOf = (
  type: DescMessage,
  message: MessageShape<DescMessage>,
  options: Partial<JsonWriteOptions>,
): JsonValue => {
  try {
    return toJson(type, message, options);
  } catch {
    return toJson(type, representable(type, message), options);
  }
};

/** Writes a message as JSON with everything that is not set, in the spelling of the interface or of JSON. */
export const writeJson = (type: DescMessage, message: MessageShape<DescMessage>, spelling: Spelling): string => {
  const json = jsonOf(type, message, { registry, alwaysEmitImplicit: true, useProtoFieldName: spelling === 'name' });
  return JSON.stringify(withNulls(type, json, spelling));
};
