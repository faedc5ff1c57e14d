import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { cutInputs } from '../../execution/wire/cut-inputs.js';
import type { ExpectedInputs, LargeLaunches, LaunchInputs } from '../../execution/ports.js';
import { decodeStrictly } from '../../gateway/decode.js';
import { RpcError } from '../../kernel/rpc.js';
import { largeWork, reading } from './large-work.js';

/** In bytes. Literals are small messages: a map of this size takes tens of milliseconds, one of 60 MB half a minute. */
const LARGE = 256 * 1024;

/** In bytes. The request without its inputs is recorded in one append, which cannot hold more. */
const MAX_REST = 1_000_000;

const parted = reading(ExecutionCreateRequestSchema, cutInputs);

const read: LargeLaunches['read'] = (bytes) => {
  const { rest, inputs } = parted(bytes);
  if (rest.length > MAX_REST)
    throw new RpcError('RESOURCE_EXHAUSTED', `message larger than max: above ${MAX_REST} bytes without the inputs`);
  return { request: decodeStrictly(ExecutionCreateRequestSchema, rest), inputs };
};

/** Checks and completes large inputs on a thread of their own. */
export const largeLaunches = (): LargeLaunches & { close(): Promise<void> } => {
  const thread = largeWork<ExpectedInputs, LaunchInputs>({
    thread: new URL('./inputs-thread.js', import.meta.url),
    tooMany: 'too many launches with large inputs wait; nothing was recorded',
  });
  return {
    aboveBytes: LARGE,
    read,
    inputs: (given, against) => thread.ask(given, against),
    close: () => thread.close(),
  };
};
