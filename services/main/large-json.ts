import type { JsonRequest } from '../gateway/exchange.js';
import { RpcError } from '../kernel/rpc.js';
import { threadCaller } from './thread-caller.js';
import { waitingBytes } from './waiting-bytes.js';

/** Bodies that may wait, and their bytes together. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

const tooMany = (): RpcError =>
  new RpcError('RESOURCE_EXHAUSTED', 'too many large bodies wait to be read; nothing was recorded');

/** Has large bodies in JSON read on a thread of their own, which starts with the first. */
export const largeJson = (): { read(request: JsonRequest): Promise<Uint8Array>; close(): Promise<void> } => {
  const thread = threadCaller<JsonRequest, Uint8Array>({
    url: new URL('./json-thread.js', import.meta.url),
    workerData: undefined,
    maxWaiting: MAX_WAITING,
    tooMany,
  });
  const bounded = waitingBytes(MAX_WAITING_BYTES, tooMany);
  return {
    // A copy of the body: it may be a part of a larger buffer, all of which would be sent.
    read: ({ body, ...asked }) => bounded(body.length, () => thread.ask({ ...asked, body: new Uint8Array(body) })),
    close: () => thread.close(),
  };
};
