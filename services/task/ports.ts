import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { Version } from '../kernel/identifier.js';
import type { RpcError } from '../kernel/rpc.js';
import type { RegisterTask } from './commands.js';
import type { TaskRules } from './registration/task.js';

/** Reads of projects that a registration needs. */
export interface Projects {
  /** The error to throw when nothing can be registered there; `undefined` when registering is allowed. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/** Compiles tasks on a worker thread. */
export interface LargeTasks {
  /** Requests above this size, in bytes, are compiled by this port. */
  readonly aboveBytes: number;

  /**
   * Decodes only the identifier of a request, so that a registration that is not allowed is refused before its large
   * template is decoded and compiled. `undefined` when the request has none.
   *
   * @throws {RpcError} INVALID_ARGUMENT when the bytes are not a request.
   */
  idOf(request: Uint8Array): Identifier | undefined;

  /**
   * Compiles a request on the thread.
   *
   * @throws {RpcError} the error of the request; RESOURCE_EXHAUSTED when too many requests wait to be compiled.
   * @throws {StoreUnavailable} when the thread has failed.
   */
  registrationOf(id: Version, request: Uint8Array, limits: TaskRules['limits']): Promise<RegisterTask>;
}
