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
  ALREADY_EXISTS: 'choose another name',
  UNIMPLEMENTED: 'the server does not have this; flightlog --version is the version of the command line',
  RESOURCE_EXHAUSTED: LATER,
  ABORTED: LATER,
  UNAVAILABLE: LATER,
  DEADLINE_EXCEEDED: LATER,
  INTERNAL: 'the log of the server says more',
};

/**
 * The server refuses a call. The message is one line: the status code, the server's reason, and what the person can do.
 * As an `OperatorError` it ends the command with this message, without a stack.
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

/** No answer has come: the server is down, or the network between is. Ends the command like `Refused`. */
export class Unreachable extends OperatorError {
  constructor(server: string, options?: ErrorOptions) {
    super(`no server answers at ${server}; --server names another`, options);
  }
}

/** The connection broke after the call was sent, before its answer was whole. */
export class ConnectionLost extends Unreachable {}

/** True when the server may answer later: a stream is opened again then. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Refused && error.code === 'UNAVAILABLE');
