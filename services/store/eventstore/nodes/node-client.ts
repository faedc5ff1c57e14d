import { EventStoreDBClient } from '@eventstore/db-client';
import { type Channel, connectivityState } from '@grpc/grpc-js';
import type { NodeAddress } from '../address.js';
import { type StreamingCall, type CallListener, callOn } from '../wire/call.js';
import { type NodeChannel, nodeChannel } from './channel.js';
import { type NodeSession, nodeSession } from './node-session.js';
import type { NodeSettings } from './settings.js';

/** The headers by which a node identifies its caller. As in the library, credentials are sent over TLS only. */
const callerHeaders = ({ connectionName, user, tls }: NodeSettings): Readonly<Record<string, string>> => ({
  'connection-name': connectionName,
  ...(user && tls && { authorization: `Basic ${Buffer.from(`${user.username}:${user.password}`).toString('base64')}` }),
});

/**
 * The library's client for one fixed node. It does not search for others: the library's own search has rejections that
 * no caller can catch. Errors of calls are also passed to `onError`; the caller of the call gets them as usual.
 */
export class NodeClient extends EventStoreDBClient {
  readonly #nodeChannel: NodeChannel;
  readonly #session: NodeSession;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #onError: (error: unknown) => void;
  readonly node: NodeAddress;
  /** True after {@link abandon}: the client takes no more calls. */
  isAbandoned = false;
  /** The version that the node reports. */
  serverVersion: string | undefined;

  constructor(node: NodeAddress, settings: NodeSettings, onError: (error: unknown) => void) {
    const { user, tls, connectionName, deadlineMs } = settings;
    const endpoint = { address: node.host, port: node.port };
    super({ endpoint, connectionName, defaultDeadline: deadlineMs }, { insecure: tls === undefined }, user);
    this.#nodeChannel = nodeChannel(node, settings);
    this.#session = nodeSession(node, settings);
    this.#headers = callerHeaders(settings);
    this.#onError = onError;
    this.node = node;
  }

  /** Takes no more calls, and breaks the connection: open calls fail as if the node had ended. */
  abandon(): void {
    this.isAbandoned = true;
    this.#nodeChannel.channel.close();
    this.#nodeChannel.cut();
    this.#session.cut();
  }

  /** Passes on the error of a call that was made over {@link getChannel}, without this client. */
  noteError(error: unknown): void {
    this.#onError(error);
  }

  /** Calls `disconnected` once the connection of the gRPC channel has ended, also when no calls are open. */
  onDisconnect(disconnected: () => void): void {
    const { channel } = this.#nodeChannel;
    if (channel.getConnectivityState(false) !== connectivityState.READY) disconnected();
    else channel.watchConnectivityState(connectivityState.READY, Infinity, disconnected);
  }

  /**
   * Opens a streaming call of EventStoreDB's service `Streams`. The library does not decode its messages; if it fails,
   * its error is one of the library's.
   *
   * @throws {NodeUnreached} after {@link abandon}.
   */
  open(method: 'Read' | 'BatchAppend', requiresLeader: boolean, { onMessages, onEnd }: CallListener): StreamingCall {
    const stream = this.#session.open({
      ':method': 'POST',
      ':path': `/event_store.client.streams.Streams/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...this.#headers,
      ...(requiresLeader && { 'requires-leader': 'true' }),
    });
    return callOn(stream, {
      onMessages,
      onEnd: (error) => {
        if (error) this.#onError(error);
        onEnd(error);
      },
    });
  }

  override getChannel = (): Promise<Channel> => Promise.resolve(this.#nodeChannel.channel);

  protected override handleError = (_: unknown, error: Error): Promise<void> => {
    this.#onError(error);
    return Promise.resolve();
  };
}
