import { type GatewayLog, logFailure } from '../log.js';
import type { Interceptor } from './dispatch.js';

/** Logs faults of adapters, and bugs, with their stacks; the details are not sent to callers. */
export const reportFaults =
  (log: GatewayLog): Interceptor =>
  async (call, next) => {
    try {
      return await next();
    } catch (thrown) {
      logFailure(log, thrown, { requestId: call.requestId, rpc: call.endpoint.name });
      throw thrown;
    }
  };
