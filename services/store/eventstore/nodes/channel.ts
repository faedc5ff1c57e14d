import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Channel, Client, credentials, Metadata } from '@grpc/grpc-js';
import { hostAndPort, type NodeAddress } from '../address.js';
import { MAX_RECEIVED_BYTES } from '../wire/messages.js';
import { NodeCredentials } from './node-credentials.js';
import type { NodeSettings } from './settings.js';

/** A gRPC channel to one node, with a connection of its own. */
export type NodeChannel = {
  readonly channel: Channel;
  /** Breaks the connection: open calls fail as if the node had ended. */
  readonly cut: () => void;
};

const NEVER_MS = 2 ** 31 - 1;

/**
 * Opens a channel to a node; it connects with its first call. The caller closes it.
 *
 * @param name the name in the certificate, when it is not the host. Calls are addressed to it: a node that names itself
 * as it was addressed then names what its certificate is for.
 */
export const nodeChannel = (node: NodeAddress, settings: NodeSettings, name: string = node.host): NodeChannel => {
  const { intervalMs, timeoutMs } = settings.keepAlive;
  const nodeCredentials = new NodeCredentials(name, settings.tls);
  const channel = new Channel(hostAndPort(node), nodeCredentials, {
    'grpc.default_authority': hostAndPort({ ...node, host: name }),
    'grpc.keepalive_time_ms': intervalMs ?? NEVER_MS,
    'grpc.keepalive_timeout_ms': timeoutMs ?? NEVER_MS,
    'grpc.max_receive_message_length': MAX_RECEIVED_BYTES,
    'grpc.use_local_subchannel_pool': 1,
  });
  return { channel, cut: () => nodeCredentials.cut() };
};

/**
 * Calls a unary RPC of a node with an empty request and without credentials.
 *
 * @throws the gRPC error of the call, after `timeoutMs` at the latest.
 */
export const callOnce = <Input extends DescMessage, Output extends DescMessage>(
  channel: Channel,
  { parent, name, input, output }: DescMethodUnary<Input, Output>,
  timeoutMs: number,
): Promise<MessageShape<Output>> =>
  new Promise((resolve, reject) => {
    // Address and credentials are unused with a channel.
    const client = new Client('', credentials.createInsecure(), { channelOverride: channel });
    client.makeUnaryRequest(
      `/${parent.typeName}/${name}`,
      (message: MessageShape<Input>) => Buffer.from(toBinary(input, message)),
      (bytes: Buffer) => fromBinary(output, bytes),
      create(input),
      new Metadata(),
      { deadline: Date.now() + timeoutMs },
      (error, answer) => (answer === undefined ? reject(error ?? new Error('no answer')) : resolve(answer)),
    );
  });
