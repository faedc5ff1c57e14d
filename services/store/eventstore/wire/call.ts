import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { convertToCommandError } from '@eventstore/db-client';
import { Metadata, status } from '@grpc/grpc-js';
import { framesOf } from '../../../kernel/encoding/grpc-frame.js';
import { messageSplitter } from './messages.js';
import { errorText } from '../../../kernel/error-text.js';

/** A streaming gRPC call, whose messages are bytes. */
export interface StreamingCall {
  /**
   * Sends messages in one write to the connection, so they mostly reach the node together. Does nothing when the call
   * has ended.
   */
  write(messages: readonly Buffer[]): void;
  /** Sends the last messages. */
  end(messages: readonly Buffer[]): void;
  /** Receives nothing more until `resume`, except what is in flight. */
  pause(): void;
  resume(): void;
  /** Ends the call; `onEnd` is not called any more. */
  cancel(): void;
}

/** Callbacks of a call. */
export type CallListener = {
  /** Is called with the messages that have arrived together. An error that it throws ends the call. */
  readonly onMessages: (messages: readonly Buffer[]) => void;
  /** Is called once: with the library's error for the failure, or without when the node has ended the call normally. */
  readonly onEnd: (error?: Error) => void;
};

const STATUS = 'grpc-status';
const OK: number = status.OK;
const { HTTP_STATUS_OK, NGHTTP2_CANCEL } = constants;

/** Builds the error that `@grpc/grpc-js` gives, which the library converts to its own. */
const serviceError = (code: number, details: string, metadata = new Metadata()): Error => {
  const error = new Error(`${code} ${status[code] ?? 'UNKNOWN'}: ${details}`);
  return convertToCommandError(Object.assign(error, { code, details, metadata }));
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const statusError = (headers: IncomingHttpHeaders): Error | undefined => {
  const code = Number(headers[STATUS]);
  if (code === OK) return undefined;
  return serviceError(code, decoded(String(headers['grpc-message'] ?? '')), Metadata.fromHttp2Headers(headers));
};

/** The error of a call that ended without a status. */
const lost = (stream: ClientHttp2Stream, failure: Error | undefined, http: number | undefined): Error => {
  const ended = http === undefined || http === HTTP_STATUS_OK ? `code ${stream.rstCode}` : `HTTP status ${http}`;
  const reason = failure?.message ?? `the node has ended the call with ${ended}`;
  return serviceError(status.UNAVAILABLE, stream.pending ? `No connection established: ${reason}` : reason);
};

/** Serves one call on an open HTTP/2 stream. */
export const callOn = (stream: ClientHttp2Stream, { onMessages, onEnd }: CallListener): StreamingCall => {
  const split = messageSplitter();
  let http: number | undefined;
  let trailer: IncomingHttpHeaders | undefined;
  let failure: Error | undefined;
  let malformed: Error | undefined;
  let isCancelled = false;

  const noteStatus = (headers: IncomingHttpHeaders): void => {
    if (STATUS in headers) trailer = headers;
  };
  stream.on('response', (headers) => {
    http = headers[':status'];
    noteStatus(headers);
  });
  stream.on('trailers', noteStatus);
  stream.on('error', (error: Error) => (failure = error));
  stream.on('data', (piece: Buffer) => {
    if (isCancelled || malformed) return;
    try {
      const messages = split(piece);
      if (messages.length > 0) onMessages(messages);
    } catch (error) {
      malformed = serviceError(status.INTERNAL, errorText(error));
      stream.close(NGHTTP2_CANCEL);
    }
  });
  stream.once('end', () => stream.close(NGHTTP2_CANCEL)); // the node may end a call that this side has not ended
  stream.once('close', () => {
    if (!isCancelled) onEnd(malformed ?? (trailer ? statusError(trailer) : lost(stream, failure, http)));
  });

  return {
    write: (messages) => {
      if (stream.writable) stream.write(framesOf(messages));
    },
    end: (messages) => {
      stream.end(framesOf(messages));
    },
    pause: () => {
      stream.pause();
    },
    resume: () => {
      stream.resume();
    },
    cancel: () => {
      isCancelled = true;
      stream.resume();
      stream.close(NGHTTP2_CANCEL);
    },
  };
};
