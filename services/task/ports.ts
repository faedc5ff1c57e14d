import type { RpcError } from '../kernel/rpc.js';

/** The projects, as far as a registration asks. */
export interface Projects {
  /** What stands against registering there, ready to be thrown; `undefined` when nothing does. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}
