import type { StreamName } from '../kernel/stream.js';
import type { Acknowledged, Folded } from '../kernel/ports/sessions.js';
import type { Call } from '../kernel/rpc.js';
import type { OnParked } from '../kernel/log-readers/parkable-fold.js';
import { ROLE_BINDING_CATEGORY, roleBindingCodec, roleBindingStream } from '../role-binding/events.js';
import {
  type GrantedRole,
  evolveRoleBindings,
  initialRoleBindings,
  type RoleBindingState,
} from '../role-binding/state.js';
import {
  assertRead,
  type FoldedStreams,
  foldedStreams,
  type LogFollower,
  reachAcknowledged,
  reachMinPosition,
} from './live-folds.js';

/** The role bindings of all principals, folded live from the log. */
export interface RoleBindings {
  /**
   * Makes the reader of the bindings of a principal: the same object until they change. There are none while the stream
   * is parked. The reader throws UNAVAILABLE until everything that was recorded at the start is folded, because a grant
   * or a revocation may be among it.
   */
  readerOf(principal: string): () => readonly GrantedRole[];
  /** Waits until everything that was recorded at the start is folded, and 10 s at most. */
  ready(): Promise<unknown>;
  /**
   * Reads the bindings of all principals, including the position that the caller asks for. Waits briefly for all
   * acknowledged events. Where `readerOf` gives none, as for a parked stream, there are none here either.
   *
   * @throws {RpcError} UNAVAILABLE when the caller's position has not been reached in time, or `readerOf` would throw;
   *   RESOURCE_EXHAUSTED when too many calls wait.
   * @throws {Fault} when the log cannot be read.
   */
  all(call: Call): Promise<readonly GrantedRole[]>;
}

/** The name of the data that is read, for errors. */
const DATA_NAME = 'the role bindings';

const READY_WAIT_MS = 10_000;

/** Makes the fold of all role bindings; it is empty until `followFolds` feeds it. */
export const roleBindingFold = (onParked?: OnParked): FoldedStreams<RoleBindingState> =>
  foldedStreams(
    {
      category: ROLE_BINDING_CATEGORY,
      codec: roleBindingCodec,
      initial: initialRoleBindings,
      evolve: evolveRoleBindings,
    },
    onParked,
  );

export type RoleBindingsOptions = {
  readonly fold: FoldedStreams<RoleBindingState>;
  readonly following: LogFollower;
  readonly acknowledged: Acknowledged;
};

const NONE: readonly GrantedRole[] = [];

const bindingsIn = ({ state }: Folded<RoleBindingState>): readonly GrantedRole[] => [...state.bindings.values()];

/** Makes the reader of the role bindings. Callers read them at each check, so that a new binding counts at once. */
export const roleBindings = ({ fold, following, acknowledged }: RoleBindingsOptions): RoleBindings => {
  const known = new WeakMap<Folded<RoleBindingState>, readonly GrantedRole[]>();

  const rolesIn = (stream: StreamName): readonly GrantedRole[] => {
    const entry = fold.isParked(stream) ? undefined : fold.entries.get(stream);
    if (entry === undefined) return NONE;
    const bindings = known.get(entry) ?? bindingsIn(entry);
    known.set(entry, bindings);
    return bindings;
  };

  return {
    readerOf: (principal) => {
      const stream = roleBindingStream(principal);
      return () => {
        assertRead(following, DATA_NAME);
        return rolesIn(stream);
      };
    },
    ready: () => following.reached(0n, READY_WAIT_MS),
    all: async (call) => {
      await reachMinPosition(following, call, DATA_NAME);
      await reachAcknowledged(following, acknowledged, ROLE_BINDING_CATEGORY);
      assertRead(following, DATA_NAME);
      call.answeredAt(following.position());
      return [...fold.entries.keys()].flatMap(rolesIn);
    },
  };
};
