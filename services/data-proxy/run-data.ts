import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { RunData, InputsAndOutputs } from './ports.js';
import type { Fault } from '../kernel/fault.js';
import type { Answer, Call, Route } from '../kernel/rpc.js';

type CallApi = <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
  call: Call,
) => Promise<MessageShape<Output>>;

/** Calls routes of this process directly, so without the interceptors that the call of a client passes. */
const apiCaller =
  (routes: readonly Route[]): CallApi =>
  async (method, request, call) => {
    const route = routes.find((each) => each.method === method);
    if (!route) throw new Error(`nothing answers ${method.name}`);
    const answer = (await route.handle(create(method.input, request) as never, call)) as Answer<typeof method.output>;
    return answer instanceof Uint8Array ? fromBinary(method.output, answer) : answer;
  };

type Maps = { readonly fullInputs?: LiteralMap | undefined; readonly fullOutputs?: LiteralMap | undefined };

/** Reads inputs and outputs; a map that could not be read is replaced by its fault. */
const readInputsAndOutputs = async (call: Call, read: (call: Call) => Promise<Maps>): Promise<InputsAndOutputs> => {
  const faults = new Map<string, Fault>();
  const maps = await read({ ...call, unread: (field, fault) => void faults.set(field, fault) });
  const fullInputs = maps.fullInputs ?? faults.get('full_inputs');
  const fullOutputs = maps.fullOutputs ?? faults.get('full_outputs');
  return { ...(fullInputs && { fullInputs }), ...(fullOutputs && { fullOutputs }) };
};

/** Reads the data of runs through the routes of the read models. */
export const runData = (routes: readonly Route[]): RunData => {
  const callApi = apiCaller(routes);
  const { method } = AdminService;
  return {
    node: (id, call) => callApi(method.getNodeExecution, { id }, call),
    ofNode: (id, call) => readInputsAndOutputs(call, (reader) => callApi(method.getNodeExecutionData, { id }, reader)),
    ofAttempt: async (nodeExecutionId, attempt, call) => {
      const filters = `eq(retry_attempt,${attempt})`;
      const { taskExecutions } = await callApi(method.listTaskExecutions, { nodeExecutionId, filters, limit: 1 }, call);
      const id = taskExecutions[0]?.id;
      return id && readInputsAndOutputs(call, (reader) => callApi(method.getTaskExecutionData, { id }, reader));
    },
  };
};
