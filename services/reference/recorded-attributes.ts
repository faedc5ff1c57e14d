import { ATTRIBUTES_CATEGORY, attributesCodec, attributesStream } from '../attributes/events.js';
import { type AttributesState, evolveAttributes, initialAttributes } from '../attributes/state.js';
import { type Call, RpcError } from '../kernel/rpc.js';
import type { Acknowledged, Folded } from '../kernel/ports/sessions.js';
import type { StreamName } from '../kernel/stream.js';
import { type FoldedStreams, foldedStreams, type Following, type OnParked } from './live-folds.js';

/** The attributes of a project, and how far its stream was read: to -1n where there is none. */
export type ReadAttributes = Pick<Folded<AttributesState>, 'state' | 'revision'> & { readonly stream: StreamName };

/** The matchable attributes of all projects, as the log has them. States are shared: never changed by who asks. */
export interface RecordedAttributes {
  /** For a launch: what is there, and all that this process has acknowledged. */
  read(project: string): Promise<ReadAttributes>;
  /** For a Get. @throws {RpcError} UNAVAILABLE when the caller's own position has not been reached in time. */
  ofProject(call: Call, project: string): Promise<AttributesState>;
  /** For a List. @throws {RpcError} UNAVAILABLE as for a Get. */
  ofAll(call: Call): Promise<readonly AttributesState[]>;
}

/** How long a read waits for what this process has acknowledged, and for the position that its caller asks for. */
const ACKNOWLEDGED_WAIT_MS = 500;
const MIN_POSITION_WAIT_MS = 2_000;

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
  readonly following: Following;
  readonly acknowledged: Acknowledged;
  /** The truth, and dearer to ask: the project's own stream. */
  readonly readStream: (stream: StreamName) => Promise<Folded<AttributesState>>;
};

const behind = (position: bigint): RpcError =>
  new RpcError('UNAVAILABLE', `the attributes have not come to position ${position.toString()} yet`);

const NONE: Folded<AttributesState> = { state: initialAttributes(), revision: -1n, position: 0n };

/** Opens the attributes, folded live. What this process has acknowledged is always seen by a launch and a Get. */
export const recordedAttributes = (options: RecordedAttributesOptions): RecordedAttributes => {
  const { fold, following, acknowledged, readStream } = options;

  const current = (stream: StreamName): Folded<AttributesState> | undefined =>
    following.hasReached(acknowledged.ofStream(stream) ?? 0n) ? (fold.entries.get(stream) ?? NONE) : undefined;

  const minPositionSeen = async ({ minPosition }: Call): Promise<void> => {
    if (minPosition !== undefined && !(await following.reached(minPosition, MIN_POSITION_WAIT_MS)))
      throw behind(minPosition);
  };

  const read = async (project: string): Promise<ReadAttributes> => {
    const stream = attributesStream(project);
    fold.assertReadable(stream);
    const { state, revision } = current(stream) ?? (await readStream(stream));
    return { stream, state, revision };
  };

  return {
    read,
    ofProject: async (call, project) => {
      await minPositionSeen(call);
      const { state } = await read(project);
      call.answeredAt(following.position());
      return state;
    },
    ofAll: async (call) => {
      await minPositionSeen(call);
      await following.reached(acknowledged.ofPrefix(`${ATTRIBUTES_CATEGORY}-`) ?? 0n, ACKNOWLEDGED_WAIT_MS);
      call.answeredAt(following.position());
      return [...fold.entries.values()].map(({ state }) => state);
    },
  };
};
