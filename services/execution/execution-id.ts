import type { WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { missing, RpcError } from '../kernel/rpc.js';
import { sha256 } from '../kernel/encoding/hash.js';
import { type ExecutionId, executionText } from '../kernel/execution-id.js';

/**
 * Checks that an execution id is complete.
 *
 * @param path the field of the request that has the id, for the error text; absent when it is the request's own id.
 * @throws {RpcError} INVALID_ARGUMENT when a part is missing.
 */
export const executionIdOf = (id: WorkflowExecutionIdentifier | undefined, path?: string): ExecutionId => {
  const place = path === undefined ? '' : ` of ${path}`;
  if (id === undefined) throw missing(`id${place}`);
  const { project, domain, name } = id;
  const empty = Object.entries({ project, domain, name }).find(([, value]) => value === '')?.[0];
  if (empty !== undefined) throw missing(`${empty}${place}`);
  return { project, domain, name };
};

const MAX_LENGTH = 63;
const FORMAT = /^[a-z][a-z\-0-9]*$/;
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const GENERATED_LENGTH = 20;

/**
 * Checks an execution name. Engines use it as the name of the resource that runs the execution.
 *
 * @throws {RpcError} INVALID_ARGUMENT.
 */
export const assertExecutionName = (name: string): void => {
  if (name.length > MAX_LENGTH)
    throw new RpcError('INVALID_ARGUMENT', `size of name exceeded length ${MAX_LENGTH} : ${name}`);
  if (!FORMAT.test(name))
    throw new RpcError('INVALID_ARGUMENT', `invalid name format: ${name}, does not match regex '${FORMAT.source}'`);
};

/** Makes a name from 19 random bytes: `a` and 19 characters of an alphabet without vowels, so that no words appear. */
export const generatedName = (random: Uint8Array): string =>
  `a${Array.from({ length: GENERATED_LENGTH - 1 }, (_, at) => ALPHABET[(random[at] ?? 0) % ALPHABET.length]).join('')}`;

/**
 * Derives the name of an execution that is launched with an idempotency key and without a name: a repeated launch gets
 * the same name.
 *
 * @param parts the caller, the operation, the project and the domain, within which the key is unique; and the key.
 */
export const nameOfKey = (parts: readonly string[]): string => generatedName(sha256(JSON.stringify(parts)));

/** NOT_FOUND: the execution does not exist. */
export const executionAbsent = (id: ExecutionId): RpcError =>
  new RpcError('NOT_FOUND', `missing entity of type execution with identifier ${executionText(id)}`);

/** NOT_FOUND: the node of the execution does not exist. */
export const nodeAbsent = (id: ExecutionId, nodeId: string): RpcError =>
  new RpcError(
    'NOT_FOUND',
    `missing entity of type node execution with identifier node_id:${JSON.stringify(nodeId)} execution_id:{${executionText(id)}}`,
  );
