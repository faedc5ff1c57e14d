import { ATTRIBUTES_CATEGORY, attributesCodec, attributesStream } from '../attributes/events.js';
import { type AttributesState, evolveAttributes, initialAttributes } from '../attributes/state.js';
import type { Call } from '../kernel/rpc.js';
import type { Acknowledged, Folded } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';
import type { OnParked } from '../kernel/log-readers/parkable-fold.js';
import {
  assertRead,
  type FoldedStreams,
  foldedStreams,
  type LogFollower,
  reachAcknowledged,
  reachMinPosition,
} from './live-folds.js';

/** The attributes of a project and the revision up to which its stream was read; -1n when there is no stream. */
export type ReadAttributes = Pick<Folded<AttributesState>, 'state' | 'revision'> & { readonly stream: StreamName };

/**
 * The matchable attributes of all projects, read from the log. The states are shared: callers must not change them.
 *
 * @throws {StreamParked} from `read` and `ofProject`, when the project's stream has an event that this release cannot
 * read; `ofAll` has the state before that event.
 * @throws {RpcError} RESOURCE_EXHAUSTED from `ofProject` and `ofAll`, when too many calls wait.
 * @throws {Fault} from each method, when the log has to be read and cannot be.
 */
export interface RecordedAttributes {
  /** Reads for a launch: includes all events that this process has acknowledged. */
  read(project: string): Promise<ReadAttributes>;
  /**
   * Reads for a Get: includes all acknowledged events and the position that the caller asks for.
   *
   * @throws {RpcError} UNAVAILABLE when the caller's position has not been reached in time.
   */
  ofProject(call: Call, project: string): Promise<AttributesState>;
  /**
   * Reads for a List: includes the position that the caller asks for. Waits briefly for all acknowledged events.
   *
   * @throws {RpcError} UNAVAILABLE when the caller's position has not been reached in time, or the events that were
   *   recorded at the start have not been read yet.
   */
  ofAll(call: Call): Promise<readonly AttributesState[]>;
}

/** Makes the fold of the attributes of all projects; it is empty until `followFolds` feeds it. */
export const attributesFold = (onParked?: OnParked): FoldedStreams<AttributesState> =>
  foldedStreams(
    {
      category: ATTRIBUTES_CATEGORY,
      codec: attributesCodec,
      initial: initialAttributes,
      evolve: evolveAttributes,
    },
    onParked,
  );

export type RecordedAttributesOptions = {
  readonly fold: FoldedStreams<AttributesState>;
  readonly following: LogFollower;
  readonly acknowledged: Acknowledged;
  /** Reads the project's own stream, which is always current and costs more. */
  readonly readStream: (stream: StreamName) => Promise<Folded<AttributesState>>;
};

/** The name of the data that is read, for errors. */
const DATA_NAME = 'the attributes';

const NONE: Folded<AttributesState> = { state: initialAttributes(), revision: -1n, position: 0n };

/**
 * Makes the reader of the attributes, folded live. Launches and Gets always see the events that this process has
 * acknowledged.
 */
export const recordedAttributes = (options: RecordedAttributesOptions): RecordedAttributes => {
  const { fold, following, acknowledged, readStream } = options;

  const current = (stream: StreamName): Folded<AttributesState> | undefined =>
    following.hasReached(acknowledged.ofStream(stream) ?? 0n) ? (fold.entries.get(stream) ?? NONE) : undefined;

  const read = async (project: string): Promise<ReadAttributes> => {
    const stream = attributesStream(project);
    fold.assertReadable(stream);
    const { state, revision } = current(stream) ?? (await readStream(stream));
    return { stream, state, revision };
  };

  return {
    read,
    ofProject: async (call, project) => {
      await reachMinPosition(following, call, DATA_NAME);
      const { state } = await read(project);
      call.answeredAt(following.position());
      return state;
    },
    ofAll: async (call) => {
      await reachMinPosition(following, call, DATA_NAME);
      await reachAcknowledged(following, acknowledged, ATTRIBUTES_CATEGORY);
      assertRead(following, DATA_NAME);
      call.answeredAt(following.position());
      return [...fold.entries.values()].map(({ state }) => state);
    },
  };
};
