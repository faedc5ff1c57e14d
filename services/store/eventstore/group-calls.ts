import { convertToCommandError, NotLeaderError } from '@eventstore/db-client';
import {
  type CallOptions,
  Client,
  type ClientDuplexStream,
  credentials,
  type Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { readFault } from './eventstore-fault.js';
import { nodeConnection } from './nodes/connection.js';
import type { NodeClient } from './nodes/node-client.js';
import { nodeSettings } from './nodes/settings.js';

/** Calls about consumer groups to the leader of an event store, as bytes. */
export interface GroupCalls {
  /**
   * Calls a unary RPC.
   *
   * @throws {StoreUnavailable} when no node can be called; otherwise the gRPC error of the call.
   */
  callUnary(path: string, request: Buffer): Promise<Buffer>;
  /**
   * Opens a bidirectional RPC, which ends with the gRPC error of the call.
   *
   * @throws {StoreUnavailable} when no node can be called.
   */
  open(path: string): Promise<ClientDuplexStream<Buffer, Buffer>>;
  close(): Promise<void>;
}

/** An internal of the library's client that adds its credentials to a call. */
type Internals = {
  callArguments(options: { readonly requiresLeader: boolean }, call: CallOptions): [Metadata, CallOptions];
};

const asIs = (bytes: Buffer): Buffer => bytes;

/** Leaves a node that names another one as the leader. Here, CANCELLED and INTERNAL are answers about a group. */
const noteLeader = (client: NodeClient, error: ServiceError | null): void => {
  if (error && convertToCommandError(error) instanceof NotLeaderError) client.noteError(error);
};

/**
 * Prepares calls to the event store of a connection string. The first call connects; the caller closes the connection
 * by `close`.
 *
 * @throws {StoreUnavailable} when the connection string cannot be used.
 */
export const groupCalls = (url: string): GroupCalls => {
  const settings = nodeSettings(url);
  const connection = nodeConnection(settings);
  const leader = async (): Promise<{ readonly stub: Client; readonly client: NodeClient }> => {
    try {
      const client = await connection.client();
      const channelOverride = await client.getChannel();
      // Address and credentials are unused with a channel.
      return { client, stub: new Client('', credentials.createInsecure(), { channelOverride }) };
    } catch (error) {
      throw readFault(error);
    }
  };
  const callArguments = (client: NodeClient, deadline: number): [Metadata, CallOptions] =>
    (client as unknown as Internals).callArguments({ requiresLeader: true }, { deadline });

  return {
    callUnary: async (path, request) => {
      const { stub, client } = await leader();
      const [metadata, options] = callArguments(client, Date.now() + settings.deadlineMs);
      return new Promise((resolve, reject) => {
        const answered = (error: ServiceError | null, answer?: Buffer): void => {
          noteLeader(client, error);
          if (answer === undefined) reject(error ?? new Error('no answer'));
          else resolve(answer);
        };
        stub.makeUnaryRequest(path, asIs, asIs, request, metadata, options, answered);
      });
    },
    open: async (path) => {
      const { stub, client } = await leader();
      const call = stub.makeBidiStreamRequest(path, asIs, asIs, ...callArguments(client, Infinity));
      return call.once('error', (error: ServiceError) => noteLeader(client, error));
    },
    close: () => connection.close(),
  };
};
