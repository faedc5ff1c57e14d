import type { Logger } from 'pino';
import { LogEndsEarly } from '../../kernel/log-readers/log-end.js';
import { tlsProblem } from '../../kernel/tls-problem.js';

/** The gRPC status of calls to a server that has other services. */
const OTHER_SERVICES = 'UNIMPLEMENTED';

const TLS_ADVICE = { plain: 'add ?tls=false to the address', untrusted: 'name its authority with ?tlsCAFile=FILE' };

/**
 * Describes the problem of an event store that a retry cannot solve; `undefined` for an error that may pass. With
 * several nodes, each of them must have such a problem: another one may be about to start.
 */
export const permanentProblem = ({ message, cause }: Error): string | undefined => {
  if (cause instanceof AggregateError) {
    const problems = (cause.errors as readonly Error[]).map(permanentProblem);
    return problems.includes(undefined) ? undefined : [...new Set(problems)].join('; ');
  }
  return message.includes(OTHER_SERVICES)
    ? 'a gRPC server answers that is not an EventStoreDB'
    : tlsProblem(message, TLS_ADVICE);
};

const HINT = 'an EventStoreDB must listen at the address, with TLS unless the address has tls=false';

const LOG_EVERY_MS = 5_000;

/** Logs that the event store cannot be reached, or that its log ends early, at most once in {@link LOG_EVERY_MS}. */
export const failureLog = (logger: Pick<Logger, 'warn'>): ((error: unknown) => void) => {
  let loggedAtMs = 0;
  return (error) => {
    if (Date.now() - loggedAtMs < LOG_EVERY_MS) return;
    loggedAtMs = Date.now();
    if (error instanceof LogEndsEarly) {
      logger.warn(error.message);
      return;
    }
    const reason = error instanceof Error ? error.message : 'it accepts calls and does not answer them';
    logger.warn({ why: reason, hint: HINT }, 'the event store (event_store) cannot be reached; retrying');
  };
};
