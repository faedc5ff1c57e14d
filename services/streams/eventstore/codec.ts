import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { EmptySchema } from '../../../proto/gen/event_store/client/values_pb.js';
import { errorText } from '../../kernel/error-text.js';
import { RpcError } from '../../kernel/rpc.js';

/**
 * Decodes a request. Handlers decode requests themselves, so that malformed bytes become INVALID_ARGUMENT.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the bytes are not a message of the type.
 */
export const decoded = <Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> => {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new RpcError('INVALID_ARGUMENT', `cannot decode ${schema.name}: ${errorText(cause)}`);
  }
};

/** The message without fields, for cases of a oneof that have no value. */
export const empty = create(EmptySchema);

/** Encodes an answer. */
export const encodedMessage = <Desc extends DescMessage>(schema: Desc, message: MessageInitShape<Desc>): Buffer =>
  Buffer.from(toBinary(schema, create(schema, message)));

/** The path by which calls name an RPC, such as `/event_store.client.streams.Streams/Read`. */
export const rpcPath = ({ parent, name }: DescMethod): string => `/${parent.typeName}/${name}`;
