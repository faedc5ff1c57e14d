import { toBinary } from '@bufbuild/protobuf';
import { ExecutionCreateRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { ParameterMapSchema } from '../../proto/gen/platformidl/core/interface_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { type CutRequest, cutInputs } from '../execution/cut-inputs.js';
import type { LargeLaunches, LaunchInputs } from '../execution/ports.js';
import { assertDecodable, decode } from '../gateway/decode.js';
import { RpcError } from '../kernel/rpc.js';
import { threadCaller } from './thread-caller.js';
import { waitingBytes } from './waiting-bytes.js';

/** Inputs on their way to the thread, with what they are held against: messages as their bytes. */
export type LargeInputs = {
  readonly given: Uint8Array;
  readonly expected: Uint8Array;
  readonly fixed: Uint8Array | undefined;
};

/** Literals are small messages: a map of this size takes tens of milliseconds, and one of 60 MB half a minute. */
const LARGE = 256 * 1024;

/** What is recorded beside the inputs is one append, which has no room for more. */
const MAX_REST = 1_000_000;

/** Launches that may wait, and the bytes of their inputs together. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

const tooMany = (): RpcError =>
  new RpcError('RESOURCE_EXHAUSTED', 'too many launches with large inputs wait; nothing was recorded');

const parted = (bytes: Uint8Array): CutRequest => {
  try {
    return cutInputs(bytes);
  } catch (cause) {
    assertDecodable(ExecutionCreateRequestSchema, bytes); // says what and where
    throw cause;
  }
};

const read: LargeLaunches['read'] = (bytes) => {
  const { rest, inputs } = parted(bytes);
  if (rest.length > MAX_REST)
    throw new RpcError('RESOURCE_EXHAUSTED', `message larger than max: above ${MAX_REST} bytes without the inputs`);
  return { request: decode(ExecutionCreateRequestSchema, rest), inputs };
};

/** Has large inputs checked and completed on a thread of their own, which starts with the first. */
export const largeLaunches = (): LargeLaunches & { close(): Promise<void> } => {
  const thread = threadCaller<LargeInputs, LaunchInputs>({
    url: new URL('./inputs-thread.js', import.meta.url),
    workerData: undefined,
    maxWaiting: MAX_WAITING,
    tooMany,
  });
  const bounded = waitingBytes(MAX_WAITING_BYTES, tooMany);

  return {
    aboveBytes: LARGE,
    read,
    inputs: (given, { expected, fixed }) =>
      bounded(given.length, () =>
        thread.ask({
          given: new Uint8Array(given), // the bytes may be a part of a larger buffer, all of which would be sent
          expected: toBinary(ParameterMapSchema, expected),
          fixed: fixed && toBinary(LiteralMapSchema, fixed),
        }),
      ),
    close: () => thread.close(),
  };
};
