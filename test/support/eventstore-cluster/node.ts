import type { LogFile } from './log-file.js';
import type { Membership } from './membership.js';
import type { Replica } from './replica.js';
import type { Append, Outcome } from './streams.js';

/** The state that the call handlers of a node share. */
export type Node = {
  readonly log: LogFile;
  readonly replica: Replica;
  readonly members: Membership;
  /**
   * Called at the start of a call; the function returned is true while the call may be answered: never again once the
   * node is muted.
   */
  readonly remember: () => () => boolean;
  /** The server version that the node reports. */
  readonly version: string;
  /** Writes as the leader, or forwards the append to it. */
  readonly write: (append: Append, requiresLeader: boolean) => Promise<Outcome>;
};
