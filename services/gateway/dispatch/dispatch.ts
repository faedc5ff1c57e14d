import { asError } from '../../kernel/error-text.js';
import type { DispatchedCall } from './call.js';

/** The size of what is sent to the caller, in bytes; for a stream, of all its messages; 0 for Server-Sent Events. */
export type Sent = { readonly length: number };

/**
 * Handles one concern of every call, wrapped around the next interceptor and finally the handler. It returns the answer
 * of `next`, or throws the error that the caller receives.
 */
export type Interceptor = <Answer extends Sent>(call: DispatchedCall, next: () => Promise<Answer>) => Promise<Answer>;

/** Runs a call through all interceptors and its handler. */
export type Dispatch = <Answer extends Sent>(
  call: DispatchedCall,
  handle: (call: DispatchedCall) => Promise<Answer>,
) => Promise<Answer>;

/**
 * Makes the dispatch that all calls over gRPC and REST go through, except those of port 2113; the first interceptor is
 * the outermost.
 */
export const dispatcher = (interceptors: readonly Interceptor[]): Dispatch => {
  return (call, handle) => {
    const from = (index: number): ReturnType<typeof handle> => {
      const interceptor = interceptors[index];
      try {
        return interceptor ? interceptor(call, () => from(index + 1)) : handle(call);
      } catch (thrown) {
        return Promise.reject(asError(thrown));
      }
    };
    return from(0);
  };
};
