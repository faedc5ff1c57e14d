import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { TailRequest, TailRequestSchema } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';

/** The request of a tail: its beginning and its filters. */
export type TailInit = MessageInitShape<typeof TailRequestSchema>;

/** An event of a tail: its position, and the JSON text that `log cat` prints; a checkpoint has no text. */
export type TailedEvent = { readonly position: string; readonly text: string | undefined };

/** The header of REST, and the trailer of gRPC, with the fields that the server could not read. */
export const UNREAD = 'flightlog-unread';

/** Is called with the text of `flightlog-unread` when an answer lacks fields that the server could not read. */
export type OnUnread = (fields: string) => void;

/** The server that a command talks to. Calls send a token that is at hand; others are fetched when it asks for one. */
export interface Connection {
  /**
   * Calls an RPC.
   *
   * @throws {Refused} when the server refuses.
   * @throws {Unreachable} when no server answers.
   * @throws {ConnectionLost} when the connection breaks before the answer is complete.
   * @throws {TimedOut} when the answer is not complete in time.
   * @throws {ForeignAnswer} when another program than flightlog answers.
   */
  call<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageInitShape<Input>,
    onUnread?: OnUnread,
  ): Promise<MessageShape<Output>>;
  /**
   * Opens a stream of answers, which ends when the server ends it. When the signal aborts, a stream over gRPC ends, and
   * one over REST throws.
   *
   * @throws as `call` does, but `TimedOut` only when a call for a new token takes too long.
   */
  open<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodServerStreaming<Input, Output>,
    request: MessageInitShape<Input>,
    signal: AbortSignal,
  ): AsyncIterable<MessageShape<Output>>;
  /** The events of the log from where the request says, and checkpoints between them. Throws as `open` does. */
  tail(request: TailInit, signal: AbortSignal): AsyncIterable<TailedEvent>;
  /** The address of a path in the web console; `undefined` where that of the console is not known. */
  consoleLink(path: string): string | undefined;
  close(): void;
}

/** The headers of a call: its token. */
export type Headers = Readonly<Record<string, string>>;

/** The headers of a stream, and the signal that ends it. */
export type StreamOptions = { readonly headers: Headers; readonly signal: AbortSignal };

/** One way to send RPCs. */
export interface Transport {
  call<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageShape<Input>,
    headers: Headers,
    onUnread?: OnUnread,
  ): Promise<MessageShape<Output>>;
  open<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodServerStreaming<Input, Output>,
    request: MessageShape<Input>,
    options: StreamOptions,
  ): AsyncIterable<MessageShape<Output>>;
  tail(request: TailRequest, options: StreamOptions): AsyncIterable<TailedEvent>;
  close(): void;
}
