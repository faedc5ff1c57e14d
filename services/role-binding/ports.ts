import type { Call } from '../kernel/rpc.js';
import type { GrantedRole } from './state.js';

/** The recorded role bindings of all principals. */
export interface RecordedBindings {
  /**
   * Reads the bindings as fresh as the call asks, in any order.
   *
   * @throws {RpcError} UNAVAILABLE when the caller's position has not been reached in time.
   */
  all(call: Call): Promise<readonly GrantedRole[]>;
}
