import { EventStoreDBClient } from '@eventstore/db-client';
import { type Channel, connectivityState } from '@grpc/grpc-js';
import type { Endpoint } from '../address.js';
import { type NodeChannel, nodeChannel } from './channel.js';
import type { NodeSettings } from './settings.js';

/**
 * The library's client of one node. It looks for no other by itself: the library's own search rejects where nobody can
 * catch it. What goes wrong is told to `onError`, and who asked gets it as before.
 */
export class NodeClient extends EventStoreDBClient {
  readonly #way: NodeChannel;
  readonly #onError: (error: unknown) => void;
  /** What the node says that it is of. */
  serverVersion: string | undefined;

  constructor(node: Endpoint, settings: NodeSettings, onError: (error: unknown) => void) {
    const { user, tls, connectionName, deadlineMs } = settings;
    const endpoint = { address: node.host, port: node.port };
    super({ endpoint, connectionName, defaultDeadline: deadlineMs }, { insecure: tls === undefined }, user);
    this.#way = nodeChannel(node, settings);
    this.#onError = onError;
  }

  /** Takes no more calls, and breaks the connection: those that are open fail as when the node had ended. */
  leave(): void {
    this.#way.channel.close();
    this.#way.cut();
  }

  /** Calls back when the connection that there is now has ended, whether calls are open or not. */
  onDisconnect(disconnected: () => void): void {
    const { channel } = this.#way;
    if (channel.getConnectivityState(false) !== connectivityState.READY) disconnected();
    else channel.watchConnectivityState(connectivityState.READY, Infinity, disconnected);
  }

  override getChannel = (): Promise<Channel> => Promise.resolve(this.#way.channel);

  protected override handleError = (_: unknown, error: Error): Promise<void> => {
    this.#onError(error);
    return Promise.resolve();
  };
}
