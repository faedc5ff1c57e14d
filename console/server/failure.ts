import { fromBinary } from '@bufbuild/protobuf';

import { StatusSchema } from '../../proto/gen/google/rpc/status_pb.js';

/** A refusal or a fault: an answer of the server, or one that the page finds by itself. */
export class ServerFailure extends Error {
  override readonly name = 'ServerFailure';
  /** The HTTP status. */
  readonly status: number;
  /** The id of the request, as the server's log has it; empty for one that had none. */
  readonly requestId: string;

  constructor(message: string, answer: { readonly status: number; readonly requestId: string }) {
    super(message);
    this.status = answer.status;
    this.requestId = answer.requestId;
  }
}

/**
 * No answer came, or only a part of it: the server or the connection to it is down. For an event stream also an answer
 * that the server cannot serve it now.
 */
export class ServerUnreachable extends Error {
  override readonly name = 'ServerUnreachable';
}

/**
 * Waits for an answer of the server, or for its body.
 *
 * @throws {ServerUnreachable} when the connection fails, or a body to be read as JSON is something else; after an abort
 * by the signal, the error of the abort.
 */
export const received = async <Value>(value: Promise<Value>, signal?: AbortSignal): Promise<Value> => {
  try {
    return await value;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ServerUnreachable('the server does not answer', { cause: error });
  }
};

const messageIn = (bytes: Uint8Array): string => {
  try {
    return fromBinary(StatusSchema, bytes).message;
  } catch {
    return '';
  }
};

/** The failure that the answer to a request reports. The HTTP status stands for a message that does not come. */
export const failureOf = async (answer: Response, requestId = ''): Promise<ServerFailure> => {
  const body = await answer.arrayBuffer().catch(() => new ArrayBuffer());
  const message = messageIn(new Uint8Array(body));
  return new ServerFailure(message || `the server answered ${answer.status}`, { status: answer.status, requestId });
};
