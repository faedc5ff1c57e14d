import type { Call } from '../kernel/rpc.js';
import type { GrantedRole } from './state.js';

/** The recorded role bindings of all principals. */
export interface RecordedBindings {
  /**
   * Reads the bindings as fresh as the call asks, in any order.
   *
   * @throws {RpcError} UNAVAILABLE when they cannot be read as fresh as that; RESOURCE_EXHAUSTED when too many calls
   * wait.
   */
  all(call: Call): Promise<readonly GrantedRole[]>;
}
