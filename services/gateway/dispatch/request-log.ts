import { rpcFailureOf } from '../status.js';
import type { Endpoint } from '../routes.js';
import { isCommand } from './requirement.js';
import type { DispatchedCall } from './call.js';
import type { Interceptor } from './dispatch.js';

/** The log of requests. A pino logger satisfies it. */
export interface RequestLog {
  isLevelEnabled(level: 'debug' | 'info'): boolean;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** The level of a request's line; ADR 0054 says why reports of engines are at `debug`. */
const levelOf = (endpoint: Endpoint): 'debug' | 'info' => (isCommand(endpoint) ? 'info' : 'debug');

/** Logs one line for each request when it has ended: writes at info, reads and events of engines at debug. */
export const requestLog = (log: RequestLog): Interceptor => {
  const write = (call: DispatchedCall, level: 'debug' | 'info', code: string, answerBytes: number): void => {
    const { endpoint, transport, requestId, principal, requestBytes, traceParent, startedAt } = call;
    const { project } = endpoint.targetOf(call.request);
    const ms = Math.round((performance.now() - startedAt) * 1_000) / 1_000;
    const context = { requestId, rpc: endpoint.name, transport, principal, project };
    log[level]({ ...context, code, ms, requestBytes, answerBytes, traceParent }, 'request');
  };
  return (call, next) => {
    const level = levelOf(call.endpoint);
    const answer = next();
    if (!log.isLevelEnabled(level)) return answer;
    answer.then(
      ({ length }) => write(call, level, 'OK', length),
      (thrown: unknown) => write(call, level, rpcFailureOf(thrown, call.endpoint.method).code, 0),
    );
    return answer;
  };
};
