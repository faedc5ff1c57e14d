import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Version } from '../kernel/identifier.js';
import type { RpcError } from '../kernel/rpc.js';
import type { RegisterTask } from './commands.js';
import type { TaskRules } from './registration/task.js';

/** The projects, as far as a registration asks. */
export interface Projects {
  /** What stands against registering there, ready to be thrown; `undefined` when nothing does. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/** Compiles tasks away from the thread that serves requests. */
export interface LargeTasks {
  /** What is larger than this is taken so, in bytes. */
  readonly aboveBytes: number;

  /** The identifier alone of a request. @throws {RpcError} INVALID_ARGUMENT when the bytes are none. */
  idOf(request: Uint8Array): Identifier | undefined;

  /**
   * @throws {RpcError} what is wrong with the task; RESOURCE_EXHAUSTED when too many wait to be compiled.
   */
  registrationOf(id: Version, request: Uint8Array, limits: TaskRules['limits']): Promise<RegisterTask>;
}
