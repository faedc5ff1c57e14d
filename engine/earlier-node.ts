import { NodeExecution_Phase as Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { type WorkflowExecutionIdentifier } from '../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { type InterfaceClient } from './client.js';
import { type EarlierResult } from './walk/effects.js';

const { getNodeExecution, getNodeExecutionData } = AdminService.method;

/**
 * Reads the result of a node in an earlier execution; `undefined` when the node did not succeed and so cannot be
 * reused.
 */
export const readEarlierNode = async (
  client: InterfaceClient,
  executionId: WorkflowExecutionIdentifier,
  nodeId: string,
): Promise<EarlierResult | undefined> => {
  const id = { executionId, nodeId };
  const { closure } = await client.call(getNodeExecution, { id });
  if (closure?.phase !== Phase.SUCCEEDED && closure?.phase !== Phase.RECOVERED) return undefined;
  const outputs = (await client.call(getNodeExecutionData, { id })).fullOutputs?.literals ?? {};
  const target = closure.targetMetadata;
  const child = target.case === 'workflowNodeMetadata' ? target.value.executionId : undefined;
  return { outputs, ...(child ? { child } : {}) };
};
