import type { DescMessage } from '@bufbuild/protobuf';
import { assertDecodable } from '../../gateway/decode.js';
import { RpcError } from '../../kernel/rpc.js';
import { threadCaller } from '../threads/thread-caller.js';

/**
 * A large request that is sent to a thread, with the data that it is checked against. Protobuf messages in it are plain
 * objects, so they can be sent as they are.
 */
export type LargeRequest<Against> = Against & { readonly request: Uint8Array };

/** The longest queue, in requests and in bytes; a request beyond it would wait longer than its caller does. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

/** A thread that works on large requests, one after another. It is started by the first request. */
export interface LargeWork<Against, Answer> {
  /**
   * @throws {RpcError} the refusal of the request; RESOURCE_EXHAUSTED when too many wait.
   * @throws {Fault} the one that the thread has thrown; {StoreUnavailable} when the thread has failed or is closed.
   */
  ask(request: Uint8Array, against: Against): Promise<Answer>;
  close(): Promise<void>;
}

/**
 * Has a thread of its own work on large requests. A request that is larger than {@link MAX_WAITING_BYTES} is taken when
 * the thread has no other.
 */
export const largeWork = <Against extends object, Answer>(options: {
  /** The file of the thread, and what it is started with. */
  readonly thread: URL;
  readonly workerData?: unknown;
  /** The text of the refusal when too many requests wait. */
  readonly tooMany: string;
}): LargeWork<Against, Answer> => {
  const tooMany = (): RpcError => new RpcError('RESOURCE_EXHAUSTED', options.tooMany);
  const thread = threadCaller<LargeRequest<Against>, Answer>({
    url: options.thread,
    workerData: options.workerData,
    maxWaiting: MAX_WAITING,
    tooMany,
  });
  let waiting = 0;

  return {
    ask: async (request, against) => {
      if (waiting > 0 && waiting + request.length > MAX_WAITING_BYTES) throw tooMany();
      waiting += request.length;
      // A copy, because the bytes may be a slice of a larger buffer, all of which would be sent.
      const posted = { ...against, request: new Uint8Array(request) };
      return thread.ask(posted).finally(() => (waiting -= request.length));
    },
    close: () => thread.close(),
  };
};

/**
 * Makes a reader of the fields of a large request that are needed before it is sent to its thread.
 *
 * @throws {RpcError} from that reader: INVALID_ARGUMENT with the fault and its byte offset, when they cannot be read.
 */
export const reading =
  <Head>(schema: DescMessage, read: (request: Uint8Array) => Head) =>
  (request: Uint8Array): Head => {
    try {
      return read(request);
    } catch (cause) {
      assertDecodable(schema, request); // throws with the reason and the byte offset
      throw cause;
    }
  };
