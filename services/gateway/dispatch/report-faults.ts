import { type GatewayLog, logFailure } from '../log.js';
import type { Interceptor } from './dispatch.js';

/** Logs what failed in the machinery, and bugs with their stack; callers are told neither. */
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
