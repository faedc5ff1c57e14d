import { type Call, RpcError } from '../../services/kernel/rpc.js';
import type { Acknowledged } from '../../services/kernel/sessions.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Views } from './views.js';

/** How long a read waits for what this process has acknowledged. */
const ACKNOWLEDGED_WAIT_MS = 500;
/** How long a read waits for the position that its caller asks for. */
const MIN_POSITION_WAIT_MS = 2_000;

/** What a read does before it looks: it waits for what its caller must see, and says on which position it stands. */
export interface Freshness {
  /**
   * For a Get: waits for the last acknowledged event of the entity's stream.
   *
   * @throws {RpcError} UNAVAILABLE when the views have not come that far, or not to the caller's own position.
   */
  waitForStream(call: Call, stream: StreamName): Promise<void>;

  /**
   * For a List: waits for the last acknowledged event of the streams whose names begin so, then goes on with what is
   * there.
   *
   * @throws {RpcError} UNAVAILABLE when the views have not come to the caller's own position.
   */
  waitForPrefix(call: Call, prefix: string): Promise<void>;
}

const behind = (position: bigint): RpcError =>
  new RpcError('UNAVAILABLE', `the views have not come to position ${position.toString()} yet`);

const minPositionSeen = async (views: Views, call: Call): Promise<void> => {
  if (call.minPosition === undefined) return;
  if (!(await views.reached(call.minPosition, MIN_POSITION_WAIT_MS))) throw behind(call.minPosition);
};

/** Reads of one's own writes: decision 26. */
export const freshness = (acknowledged: Acknowledged, views: Views): Freshness => ({
  waitForStream: async (call, stream) => {
    await minPositionSeen(views, call);
    const position = acknowledged.ofStream(stream) ?? 0n;
    if (!(await views.reached(position, ACKNOWLEDGED_WAIT_MS))) throw behind(position);
    call.answeredAt(views.position());
  },
  waitForPrefix: async (call, prefix) => {
    await minPositionSeen(views, call);
    await views.reached(acknowledged.ofPrefix(prefix) ?? 0n, ACKNOWLEDGED_WAIT_MS);
    call.answeredAt(views.position());
  },
});
