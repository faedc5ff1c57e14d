import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';

import { RpcError } from '../kernel/rpc.js';
import { wireFault } from './wire/check.js';

const undecodable = (type: DescMessage, fault: string): RpcError =>
  new RpcError('INVALID_ARGUMENT', `cannot decode ${type.name}: ${fault}`);

/**
 * Checks that bytes are a valid message of a type, which they may not be although {@link decode} decodes them.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the fault and its byte offset.
 */
export const assertDecodable = (type: DescMessage, bytes: Uint8Array): void => {
  const fault = wireFault(type, bytes);
  if (fault !== undefined) throw undecodable(type, fault);
};

/**
 * Decodes a request. Some bytes that are not a valid message are decoded, too: see {@link decodeStrictly}.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the fault.
 */
export const decode = <Type extends DescMessage>(type: Type, bytes: Uint8Array): MessageShape<Type> => {
  try {
    return fromBinary(type, bytes);
  } catch (cause) {
    throw undecodable(type, wireFault(type, bytes) ?? (cause instanceof Error ? cause.message : 'not a message'));
  }
};

/**
 * Decodes a request that was authorized by its bytes, as large ones are. The decoder of the library takes bytes that
 * are not valid, such as a field of another wire type, and reads other names in them than the authorization did.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the fault and its byte offset.
 */
export const decodeStrictly = <Type extends DescMessage>(type: Type, bytes: Uint8Array): MessageShape<Type> => {
  assertDecodable(type, bytes);
  return decode(type, bytes);
};
