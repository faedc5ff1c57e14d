import { fromBinary } from '@bufbuild/protobuf';
import { DescriptionEntitySchema } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import { TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import type { PlatformLimits } from '../compiler/task-resources.js';
import { assertDecodable } from '../gateway/decode.js';
import type { Version } from '../kernel/identifier.js';
import { RpcError } from '../kernel/rpc.js';
import type { RegisterTask } from '../task/commands.js';
import type { LargeTasks } from '../task/ports.js';
import { idIn, type TaskTypes } from '../task/registration/task.js';
import { threadCaller } from './thread-caller.js';
import { waitingBytes } from './waiting-bytes.js';

/** A task on its way to the thread. */
export type LargeTask = { readonly id: Version; readonly request: Uint8Array; readonly limits: PlatformLimits };

/** What it comes to, on the way back: the description as its bytes. */
export type LargeTaskRegistration = Omit<RegisterTask, 'description'> & {
  readonly description: Uint8Array | undefined;
};

/** What a task holds is decoded and hashed entry by entry: one of this size takes tens of milliseconds. */
const LARGE = 32 * 1024;

/** Tasks that may wait, and their bytes together; another would wait for longer than its caller does. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 128 * 1024 * 1024;

const tooMany = (): RpcError =>
  new RpcError('RESOURCE_EXHAUSTED', 'too many large tasks wait to be compiled; nothing was recorded');

const idOf: LargeTasks['idOf'] = (request) => {
  try {
    return idIn(request);
  } catch (cause) {
    assertDecodable(TaskCreateRequestSchema, request); // says what and where
    throw cause;
  }
};

/** Has large tasks compiled on a thread of their own, which starts with the first. */
export const largeTaskCompiler = (taskTypes: TaskTypes): LargeTasks & { close(): Promise<void> } => {
  const thread = threadCaller<LargeTask, LargeTaskRegistration>({
    url: new URL('./task-thread.js', import.meta.url),
    workerData: taskTypes,
    maxWaiting: MAX_WAITING,
    tooMany,
  });
  const bounded = waitingBytes(MAX_WAITING_BYTES, tooMany);

  return {
    aboveBytes: LARGE,
    idOf,
    registrationOf: async (id, request, limits) => {
      // A copy: the bytes may be a part of a larger buffer, all of which would be sent.
      const asked = { id, request: new Uint8Array(request), limits: { ...limits } };
      const { description, ...rest } = await bounded(request.length, () => thread.ask(asked));
      return { ...rest, description: description && fromBinary(DescriptionEntitySchema, description) };
    },
    close: () => thread.close(),
  };
};
