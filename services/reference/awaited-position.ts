import type { DescMessage } from '@bufbuild/protobuf';

import { type Answer, type Call, type Route, RpcError } from '../kernel/rpc.js';
import type { Following } from './live-folds.js';

/** How long a command waits for the position that its caller asks for. */
const MIN_POSITION_WAIT_MS = 2_000;

/**
 * A command that is decided when all that it is decided on has come to the position that its caller names: whatever the
 * caller was told of, by whichever process, is known then.
 *
 * @param known what follows the log here: the reference, and what keeps the live streams current.
 * @throws {RpcError} UNAVAILABLE when it has not come that far in time; nothing is recorded then.
 */
export const awaitingPosition = (known: readonly Pick<Following, 'reached'>[], route: Route): Route => {
  const reached = async ({ minPosition }: Call): Promise<void> => {
    if (minPosition === undefined) return;
    const all = await Promise.all(known.map((each) => each.reached(minPosition, MIN_POSITION_WAIT_MS)));
    if (all.includes(false))
      throw new RpcError('UNAVAILABLE', `this process has not come to position ${minPosition.toString()} yet`);
  };
  type Handle<Request> = (request: Request, call: Call) => Promise<Answer<DescMessage>>;
  const awaiting =
    <Request>(handle: Handle<Request>): Handle<Request> =>
    async (request, call) => {
      await reached(call);
      return handle(request, call);
    };
  const { large } = route;
  return {
    ...route,
    handle: awaiting(route.handle),
    ...(large && { large: { ...large, handle: awaiting(large.handle) } }),
  };
};
