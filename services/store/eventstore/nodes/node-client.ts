import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  EventStoreDBClient,
  type EventType,
  type Position,
  type ReadAllOptions,
  type ReadStreamOptions,
  type ResolvedEvent,
  START,
  type StreamingRead,
  type SubscribeToAllOptions,
} from '@eventstore/db-client';
import { type Channel, connectivityState } from '@grpc/grpc-js';
import type { Endpoint } from '../address.js';
import { type NodeChannel, nodeChannel } from './channel.js';
import type { NodeSettings } from './settings.js';
import { openRead } from '../wire/calls.js';
import { eventRead } from '../wire/event-read.js';

/**
 * The library's client for one fixed node. It does not search for others: the library's own search has rejections that
 * no caller can catch. Errors of calls are also passed to `onError`; the caller of the call gets them as usual.
 */
export class NodeClient extends EventStoreDBClient {
  readonly #nodeChannel: NodeChannel;
  readonly #onError: (error: unknown) => void;
  readonly node: Endpoint;
  /** True after {@link abandon}: the client takes no more calls. */
  isAbandoned = false;
  /** The version that the node reports. */
  serverVersion: string | undefined;

  constructor(node: Endpoint, settings: NodeSettings, onError: (error: unknown) => void) {
    const { user, tls, connectionName, deadlineMs } = settings;
    const endpoint = { address: node.host, port: node.port };
    super({ endpoint, connectionName, defaultDeadline: deadlineMs }, { insecure: tls === undefined }, user);
    this.#nodeChannel = nodeChannel(node, settings);
    this.#onError = onError;
    this.node = node;
  }

  /** Takes no more calls, and breaks the connection: open calls fail as if the node had ended. */
  abandon(): void {
    this.isAbandoned = true;
    this.#nodeChannel.channel.close();
    this.#nodeChannel.cut();
  }

  /** Calls `disconnected` when the present connection has ended, also when no calls are open. */
  onDisconnect(disconnected: () => void): void {
    const { channel } = this.#nodeChannel;
    if (channel.getConnectivityState(false) !== connectivityState.READY) disconnected();
    else channel.watchConnectivityState(connectivityState.READY, Infinity, disconnected);
  }

  /** Reads with our own decoder, which takes less processor time than that of the library. */
  override readAll(options: ReadAllOptions = {}): StreamingRead<AllStreamResolvedEvent> {
    const { fromPosition: from = START, maxCount: count, ...asked } = options;
    return eventRead(openRead(this, { from, count, ...asked })) as StreamingRead<AllStreamResolvedEvent>;
  }

  override readStream<Known extends EventType = EventType>(
    stream: string,
    options: ReadStreamOptions = {},
  ): StreamingRead<ResolvedEvent<Known>> {
    const { fromRevision: from = START, maxCount: count, ...asked } = options;
    return eventRead(openRead(this, { stream, from, count, ...asked })) as StreamingRead<ResolvedEvent<Known>>;
  }

  override subscribeToAll(options: SubscribeToAllOptions = {}): AllStreamSubscription {
    const { fromPosition: from = START, filter, ...asked } = options;
    const opening = openRead(this, { from, filter, isSubscription: true, ...asked });
    const onCheckpoint = (position: Position): unknown => filter?.checkpointReached?.(read, position);
    const read = eventRead(opening, onCheckpoint) as AllStreamSubscription;
    return read;
  }

  override getChannel = (): Promise<Channel> => Promise.resolve(this.#nodeChannel.channel);

  protected override handleError = (_: unknown, error: Error): Promise<void> => {
    this.#onError(error);
    return Promise.resolve();
  };
}
