import { type GatewayLog, logFailure } from '../log.js';
import type { Interceptor } from './dispatch.js';

/** Logs faults of adapters, and bugs, with their stacks; the details are not sent to callers. */
export const reportFaults =
  (log: GatewayLog): Interceptor =>
  (call, next) => {
    const answer = next();
    answer.catch((thrown: unknown) => logFailure(log, thrown, { requestId: call.requestId, rpc: call.endpoint.name }));
    return answer;
  };
