import { type RpcFailure, rpcFailureOf } from '../status.js';
import type { Interceptor } from './dispatch.js';

/** Counts requests. */
export interface RequestMetrics {
  began(transport: string): void;
  ended(request: {
    readonly rpc: string;
    readonly transport: string;
    readonly code: string;
    readonly tookMs: number;
    /** The call was refused because of load, and may be sent again later. */
    readonly isShed: boolean;
  }): void;
}

const isShed = ({ code, retryAfterMs }: RpcFailure): boolean =>
  code === 'RESOURCE_EXHAUSTED' && retryAfterMs !== undefined;

/** Records the RPC, transport, status and duration of every call. */
export const metrics =
  (requests: RequestMetrics): Interceptor =>
  (call, next) => {
    requests.began(call.transport);
    const end = (code: string, shed: boolean): void => {
      const { endpoint, transport, startedAt } = call;
      requests.ended({ rpc: endpoint.name, transport, code, tookMs: performance.now() - startedAt, isShed: shed });
    };
    const answer = next();
    answer.then(
      () => end('OK', false),
      (thrown: unknown) => {
        const failure = rpcFailureOf(thrown, call.endpoint.method);
        end(failure.code, isShed(failure));
      },
    );
    return answer;
  };
