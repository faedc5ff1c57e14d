import { create } from '@bufbuild/protobuf';
import { EmptySchema, type UUID, UUIDSchema } from '../../../proto/gen/event_store/client/values_pb.js';
import { invalid } from '../../kernel/rpc.js';

/** In which of its two forms an identity goes out. */
export type UuidForm = 'structured' | 'string';

const TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;

/** A message that says nothing but that it is there. */
export const empty = create(EmptySchema);

/**
 * The 16 bytes of an identity.
 *
 * @throws {RpcError} INVALID_ARGUMENT when it is missing or is none.
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

/** An identity of 16 bytes as text. */
export const uuidText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');

/** An identity of 16 bytes as the protocol has it. */
export const uuidOf = (bytes: Uint8Array, form: UuidForm): UUID => {
  if (form === 'string') return create(UUIDSchema, { value: { case: 'string', value: uuidText(bytes) } });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const value = { mostSignificantBits: view.getBigInt64(0), leastSignificantBits: view.getBigInt64(8) };
  return create(UUIDSchema, { value: { case: 'structured', value } });
};
