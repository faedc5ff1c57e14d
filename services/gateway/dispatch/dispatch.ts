import type { DispatchedCall } from './call.js';

/** What is sent to the caller, or has been: of a stream all of it. */
export type Sent = { readonly length: number };

/**
 * One concern of every call, around what comes after it: the next interceptor, and in the end the handler. It passes
 * the answer of `next` on, or throws what the caller is refused with.
 */
export type Interceptor = <Answer extends Sent>(call: DispatchedCall, next: () => Promise<Answer>) => Promise<Answer>;

/** Runs a call through all interceptors and its handler. */
export type Dispatch = <Answer extends Sent>(
  call: DispatchedCall,
  handle: (call: DispatchedCall) => Promise<Answer>,
) => Promise<Answer>;

/** The one way of every call, whatever transport it came by: through the interceptors, the first one outermost. */
export const dispatcher = (interceptors: readonly Interceptor[]): Dispatch => {
  return (call, handle) => {
    const from = (index: number): ReturnType<typeof handle> => {
      const interceptor = interceptors[index];
      try {
        return interceptor ? interceptor(call, () => from(index + 1)) : handle(call);
      } catch (thrown) {
        return Promise.reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
    };
    return from(0);
  };
};
