import type { DescMessage } from '@bufbuild/protobuf';
import { assertDecodable } from '../../gateway/decode.js';
import { RpcError } from '../../kernel/rpc.js';
import { threadCaller } from './thread-caller.js';

/** A large request on its way to a thread, with what it is held against. Messages cross as they are: plain objects. */
export type Large<Against> = Against & { readonly request: Uint8Array };

/** What may wait, and its bytes together; another would wait for longer than its caller does. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

/** A thread that large requests are worked on by, one after another. It starts with the first. */
export interface LargeWork<Against, Answer> {
  /**
   * @throws {RpcError} what is wrong with the request; RESOURCE_EXHAUSTED when too many wait.
   * @throws {StoreUnavailable} when the thread, or something that it stands on, has failed.
   */
  ask(request: Uint8Array, against: Against): Promise<Answer>;
  close(): Promise<void>;
}

/**
 * Has large requests worked on by a thread of their own. One that is larger than all that may wait is taken when
 * nothing else does.
 */
export const largeWork = <Against extends object, Answer>(options: {
  /** The file of the thread, and what it is started with. */
  readonly thread: string;
  readonly workerData?: unknown;
  /** What waits, and for what: `large bodies wait to be read`. */
  readonly waiting: string;
}): LargeWork<Against, Answer> => {
  const tooMany = (): RpcError =>
    new RpcError('RESOURCE_EXHAUSTED', `too many ${options.waiting}; nothing was recorded`);
  const thread = threadCaller<Large<Against>, Answer>({
    url: new URL(options.thread, import.meta.url),
    workerData: options.workerData,
    maxWaiting: MAX_WAITING,
    tooMany,
  });
  let waiting = 0;

  return {
    ask: async (request, against) => {
      if (waiting > 0 && waiting + request.length > MAX_WAITING_BYTES) throw tooMany();
      waiting += request.length;
      // A copy: the bytes may be a part of a larger buffer, all of which would be sent.
      const asked = { ...against, request: new Uint8Array(request) };
      return thread.ask(asked).finally(() => (waiting -= request.length));
    },
    close: () => thread.close(),
  };
};

/**
 * What is read of a large request before it goes to its thread.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the place when the bytes are no message.
 */
export const reading =
  <Head>(schema: DescMessage, read: (request: Uint8Array) => Head) =>
  (request: Uint8Array): Head => {
    try {
      return read(request);
    } catch (cause) {
      assertDecodable(schema, request); // says what and where
      throw cause;
    }
  };
