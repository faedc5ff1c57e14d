import type { DescMethod } from '@bufbuild/protobuf';

/** One of the requests that a call carries in a stream or a batch. */
export type Item = {
  /** The unary RPC that takes the request alone. */
  readonly method: DescMethod;
  /** The encoded request. */
  readonly request: Uint8Array;
  /**
   * Called when the command has its place in the queue of its stream, so that a later command is decided after it. Not
   * called for a request that fails before.
   */
  readonly onQueued: () => void;
};

/** The answer to an item. */
export type ItemAnswer = {
  /** As `flightlog-position`; empty without one. */
  readonly position: string;
  /** An encoded `google.rpc.Status`; `undefined` when the request succeeded. */
  readonly status: Uint8Array | undefined;
  /** The milliseconds to wait before a retry; 0 where that is not known. */
  readonly retryAfterMs: number;
};

/** An item that is being answered. */
export type ItemInProgress = {
  /** Names what the request is about: the same text for the same project, domain and name. */
  readonly target: string;
  /** Never rejects. */
  readonly answer: Promise<ItemAnswer>;
};
