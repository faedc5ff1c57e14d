import type { LogFile } from './log-file.js';
import type { Membership } from './membership.js';
import type { Replica } from './replica.js';
import type { Append, Outcome } from './streams.js';

/** What the calls of a node stand on. */
export type Node = {
  readonly log: LogFile;
  readonly replica: Replica;
  readonly members: Membership;
  /** A call asks once when it comes, and then whether it is to be answered: a node that falls mute forgets its calls. */
  readonly remember: () => () => boolean;
  /** The version that it says. */
  readonly version: string;
  /** Writes, or has the leader write. */
  readonly write: (append: Append, requiresLeader: boolean) => Promise<Outcome>;
};
