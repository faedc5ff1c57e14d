import type { ClientCertificate } from './authentication.js';

/** A gRPC call of any service, whose messages are passed on encoded. */
export interface EncodedCall {
  /** For example `/event_store.client.streams.Streams/Read`. */
  readonly path: string;
  /** Reads a header; `undefined` when it is absent or not printable ASCII. */
  readonly header: (name: string) => string | undefined;
  /** The client, or a proxy in front. */
  readonly peer: { readonly address: string; readonly port: number };
  /** The client certificate of the connection, when there is one. */
  readonly certificate: () => ClientCertificate | undefined;
  /**
   * Receives the only request of a unary or server-streaming RPC.
   *
   * @throws {RpcError} INVALID_ARGUMENT unless there is exactly one whole message, in the announced compression;
   * RESOURCE_EXHAUSTED when it is too large or the memory budget stays full; CANCELLED when the client disconnects.
   */
  readonly request: () => Promise<Buffer>;
  /**
   * Receives the requests of a streaming RPC, no faster than they are read.
   *
   * @throws {RpcError} INVALID_ARGUMENT when a message is not whole or not in the announced compression;
   * RESOURCE_EXHAUSTED and CANCELLED as for one request.
   */
  readonly requests: () => AsyncIterable<Buffer>;
  /**
   * Writes an answer at once, and resolves when the client can take the next one.
   *
   * @throws {Error} when the client has disconnected.
   */
  readonly send: (answer: Uint8Array) => Promise<void>;
  /** Aborted when the client has disconnected or the call has ended. */
  readonly disconnected: AbortSignal;
}

/** Serves a call, which ends with OK when the promise resolves. */
export type EncodedHandler = (call: EncodedCall) => Promise<void>;

/** The status that ends a failed call. */
export type FailedStatus = {
  /** The number of the status code: https://grpc.io/docs/guides/status-codes/ */
  readonly code: number;
  /** Any text: the server that sends the status encodes it. */
  readonly message: string;
  /** Further trailers by name, in ASCII. */
  readonly trailers: Readonly<Record<string, string>>;
};
