import type { DescField, DescMessage, MessageShape } from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { StreamIdentifierSchema } from '../../../proto/gen/event_store/client/values_pb.js';
import { invalid } from '../../kernel/rpc.js';
import { decoded } from './codec.js';

const NUL = '\0';

const HAS_NUL = 'it has a NUL character';

/** The texts of a field: a text, several texts, or the keys and values of a map of texts. */
const textsOf = (field: DescField, message: ReflectMessage): readonly unknown[] => {
  if (field.fieldKind === 'scalar') return [message.get(field)];
  if (field.fieldKind === 'list') return [...message.get(field)];
  return field.fieldKind === 'map' ? [...message.get(field)].flat() : [];
};

/** The messages in a field; those of lists too. No request has a map of messages. */
const messagesOf = (field: DescField, message: ReflectMessage): readonly ReflectMessage[] => {
  if (field.fieldKind === 'message') return [message.get(field)];
  if (field.fieldKind === 'list' && field.listKind === 'message') return [...message.get(field)] as ReflectMessage[];
  return [];
};

/** The names of the fields that lead to the first text with a NUL; `undefined` when there is none. */
const pathToNul = (message: ReflectMessage): readonly string[] | undefined => {
  // The protocol sends names of streams as bytes; `streamOf` reads them as text.
  if (message.desc.typeName === StreamIdentifierSchema.typeName) {
    const { streamName } = message.message as MessageShape<typeof StreamIdentifierSchema>;
    return streamName.includes(0) ? [] : undefined;
  }
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (textsOf(field, message).some((text) => typeof text === 'string' && text.includes(NUL))) return [field.name];
    for (const inner of messagesOf(field, message)) {
      const path = pathToNul(inner);
      if (path !== undefined) return [field.name, ...path];
    }
  }
  return undefined;
};

/**
 * Decodes a request, whose texts must be without NUL characters: the embedded log ends a text at its first NUL, so it
 * would store or look for another text than was checked. Appends are decoded without this check: `writeTargetOf` and
 * `proposedEvent` check their texts.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the bytes are not a message of the type, or with the field that has a NUL.
 */
export const decodedRequest = <Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> => {
  const request = decoded(schema, bytes);
  const path = pathToNul(reflect(schema, request, false));
  if (path !== undefined) throw invalid(path.join('.'), HAS_NUL);
  return request;
};

/**
 * Checks one text of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the field when the text has a NUL.
 */
export const assertWithoutNul = (field: string, text: string): void => {
  if (text.includes(NUL)) throw invalid(field, HAS_NUL);
};

/**
 * Checks the properties of an event that a client appends, and their names.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the field that has a NUL.
 */
export const assertPropertiesWithoutNul = (field: string, properties: Readonly<Record<string, string>>): void => {
  for (const [key, value] of Object.entries(properties)) {
    assertWithoutNul(field, key);
    assertWithoutNul(`${field}.${key}`, value);
  }
};
