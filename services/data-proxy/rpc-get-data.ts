import { create } from '@bufbuild/protobuf';
import {
  type NodeExecutionIdentifier,
  NodeExecutionIdentifierSchema,
} from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import {
  type GetDataRequest,
  type GetDataResponse,
  GetDataResponseSchema,
} from '../../proto/gen/platformidl/service/dataproxy_pb.js';
import { Fault } from '../kernel/fault.js';
import { assertPermitted } from '../kernel/permitted.js';
import { type Call, RpcError } from '../kernel/rpc.js';
import { MAX_EXPIRY_SECONDS } from './expiry.js';
import { type DataAddress, dataAddress } from './flyte-url.js';
import type { InputsAndOutputs, DataProxyServices } from './ports.js';
import { deckLink } from './rpc-download.js';

const idOf = ({ project, domain, execution, node }: DataAddress): NodeExecutionIdentifier =>
  create(NodeExecutionIdentifierSchema, { nodeId: node, executionId: { project, domain, name: execution } });

/** Reads the inputs and outputs of the node or the task attempt that an address names. */
const inputsAndOutputsAt = async (
  { runs }: DataProxyServices,
  { attempt, ...address }: DataAddress,
  call: Call,
): Promise<InputsAndOutputs> => {
  const id = idOf(address);
  const found = await (attempt === undefined ? runs.ofNode(id, call) : runs.ofAttempt(id, attempt, call));
  if (found) return found;
  const which = `attempt ${attempt ?? 0} of node ${address.node}`;
  throw new RpcError(
    'INVALID_ARGUMENT',
    `no task executions were listed: flyte_url names ${which}, which is not there`,
  );
};

const literalOf = (map: LiteralMap, name: string, { attempt }: DataAddress): GetDataResponse['data'] => {
  // Names come from clients, and an object inherits properties such as `constructor`.
  const value = Object.hasOwn(map.literals, name) ? map.literals[name] : undefined;
  if (value) return { case: 'literal', value };
  const kind = attempt === undefined ? 'node' : 'task';
  throw new RpcError('INVALID_ARGUMENT', `name [${name}] not found in ${kind} execution: flyte_url`);
};

/**
 * Reads the data at an address.
 *
 * @throws {RpcError} INVALID_ARGUMENT when the address, its attempt or its name is wrong; PERMISSION_DENIED when the
 *   caller may not read there; NOT_FOUND when no data is recorded there (no empty map is returned for that); for a
 *   deck, the errors of {@link deckLink}.
 * @throws {Fault} when the data exists and cannot be read.
 */
export const getData = async (
  services: DataProxyServices,
  { flyteUrl }: GetDataRequest,
  call: Call,
): Promise<GetDataResponse> => {
  const address = dataAddress(flyteUrl);
  assertPermitted(call, 'read', address);
  const { part, name } = address;
  if (part === 'd') {
    const value = await deckLink(services, idOf(address), { seconds: MAX_EXPIRY_SECONDS, call });
    return create(GetDataResponseSchema, { data: { case: 'preSignedUrls', value } });
  }
  const { fullInputs, fullOutputs } = await inputsAndOutputsAt(services, address, call);
  const map = part === 'i' ? fullInputs : fullOutputs;
  if (map instanceof Fault) throw map;
  if (!map) {
    const contents = part === 'i' ? 'inputs' : 'outputs';
    throw new RpcError('NOT_FOUND', `${flyteUrl}: no ${contents} are recorded here`);
  }
  const data = name === undefined ? { case: 'literalMap' as const, value: map } : literalOf(map, name, address);
  return create(GetDataResponseSchema, { data });
};
