import { create } from '@bufbuild/protobuf';
import { type UUID, UUIDSchema } from '../../../proto/gen/event_store/client/values_pb.js';
import { uuidText } from '../../kernel/encoding/id-text.js';
import { invalid } from '../../kernel/rpc.js';

/** The two forms of a UUID in the protocol. */
export type UuidForm = 'structured' | 'string';

/** Reads the form that a client asks for; without one, UUIDs are strings. */
export const uuidFormOf = (
  option: { readonly content: { readonly case: UuidForm | undefined } } | undefined,
): UuidForm => option?.content.case ?? 'string';

const TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;

/**
 * Reads the 16 bytes of a UUID.
 *
 * @throws {RpcError} INVALID_ARGUMENT when it is missing or malformed.
 */
export const uuidBytes = (field: string, uuid: UUID | undefined): Uint8Array => {
  const value = uuid?.value;
  if (value?.case === 'structured') {
    const bytes = Buffer.alloc(16);
    bytes.writeBigInt64BE(value.value.mostSignificantBits, 0);
    bytes.writeBigInt64BE(value.value.leastSignificantBits, 8);
    return bytes;
  }
  if (value?.case === 'string' && TEXT.test(value.value)) return Buffer.from(value.value.replaceAll('-', ''), 'hex');
  throw invalid(field, 'a UUID is needed');
};

/** Converts the 16 bytes of a UUID to a message of the protocol. */
export const uuidOf = (bytes: Uint8Array, form: UuidForm): UUID => {
  if (form === 'string') return create(UUIDSchema, { value: { case: 'string', value: uuidText(bytes) } });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const value = { mostSignificantBits: view.getBigInt64(0), leastSignificantBits: view.getBigInt64(8) };
  return create(UUIDSchema, { value: { case: 'structured', value } });
};
