import { type GrpcStatus, grpcStatusOf } from '../../../kernel/grpc-status.js';
import { OperatorError } from '../../../config/operator-errors.js';
import { oneLine } from '../output/text.js';

const LATER = 'try again later';

/** The advice for a person about a refusal, for the codes where that is always the same. */
const TO_DO: Readonly<Partial<Record<GrpcStatus, string>>> = {
  UNAUTHENTICATED:
    'flightlog sign-in is for people; programs have a profile with authType, or an access token by --token-file',
  PERMISSION_DENIED: 'an administrator gives roles with flightlog access grant',
  NOT_FOUND: 'the list commands print what is there; --project and --domain say where',
  UNIMPLEMENTED: 'the server does not have this; flightlog --version is the version of the command line',
  ABORTED: LATER,
  UNAVAILABLE: LATER,
  DEADLINE_EXCEEDED: LATER,
  INTERNAL: 'the log of the server says more',
};

/**
 * The server refuses a call. The message is one line: the status code, the server's reason, and for some codes what the
 * person can do. As an `OperatorError` it ends the command with this message, without a stack.
 */
export class Refused extends OperatorError {
  readonly code: GrpcStatus;

  constructor(code: number, reason: string, options?: ErrorOptions) {
    const name = grpcStatusOf(code);
    const toDo = TO_DO[name];
    super(`${name}: ${oneLine(reason) || 'no reason given'}${toDo === undefined ? '' : `; ${toDo}`}`, options);
    this.code = name;
  }
}

/**
 * The reason of a failure in brackets; of an error of TLS only the part that says what is wrong. Empty without a
 * reason.
 */
const inBrackets = (reason: string): string =>
  reason && ` (${oneLine(reason).replace(/^[0-9A-F]+:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):.*/u, 'TLS: $1')})`;

/**
 * The server could not be asked: it is down, the network between is, or TLS does not accept its certificate. Ends the
 * command like `Refused`.
 */
export class Unreachable extends OperatorError {
  /** @param reason the text of the failure, such as `connect ECONNREFUSED 127.0.0.1:8080`; empty if it is unknown. */
  constructor(server: string, reason = '', options?: ErrorOptions) {
    super(`no server answers at ${server}${inBrackets(reason)}; --server names another`, options);
  }
}

/** The connection broke after the call was sent, before its answer was complete, or the token of a stream expired. */
export class ConnectionLost extends OperatorError {
  constructor(server: string, reason = '', options?: ErrorOptions) {
    super(`${server}: the connection was lost before the answer was complete${inBrackets(reason)}`, options);
  }
}

/** The answer to a call was not complete within the time that calls have. */
export class TimedOut extends OperatorError {
  constructor(server: string, afterMs: number, options?: ErrorOptions) {
    super(`${server}: no complete answer within ${afterMs / 1_000} s; the server may still do what was asked`, options);
  }
}

/**
 * Another program than flightlog has answered, such as a web server or a proxy. Not retried: a second answer would be
 * the same.
 */
export class ForeignAnswer extends OperatorError {
  constructor(server: string, options?: ErrorOptions) {
    super(`the answer from ${server} is not one of flightlog; --server names another`, options);
  }
}

const LATER_CODES: ReadonlySet<string> = new Set(['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED']);

/** The text of gRPC clients for an answer above their limit, which has the code of an overload. */
const TOO_LARGE = /larger than max/u;

/**
 * True when the server may answer later, because it is away, overloaded or slow: a stream that had begun is then opened
 * again, and a call that may be sent twice is sent again.
 */
export const isForLater = (error: unknown): boolean => {
  if (error instanceof Unreachable || error instanceof ConnectionLost || error instanceof TimedOut) return true;
  return error instanceof Refused && LATER_CODES.has(error.code) && !TOO_LARGE.test(error.message);
};
