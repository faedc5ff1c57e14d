import type { WorkflowExecutionGetDataResponse } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import type { Connection } from '../connection/connection.js';
import type { ExecutionId } from './execution-id.js';

/** The values of an execution, each with the name that `flightlog-unread` has for it. */
const FIELDS = { inputs: 'full_inputs', outputs: 'full_outputs' } as const;

/**
 * Reads the inputs and outputs of an execution.
 *
 * @param needed the values that the caller uses.
 * @throws {OperatorError} when the server could not read one of these, which would otherwise be taken for none.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const executionData = async (
  connection: Connection,
  id: ExecutionId,
  needed: readonly (keyof typeof FIELDS)[],
): Promise<WorkflowExecutionGetDataResponse> => {
  const faults = new Map<string, string>();
  const data = await connection.call(AdminService.method.getExecutionData, { id }, (unread) => {
    for (const [, field = '', fault = ''] of unread.matchAll(/(\w+)=([\w-]+)/gu)) faults.set(field, fault);
  });
  for (const each of needed) {
    const fault = faults.get(FIELDS[each]);
    if (fault !== undefined) throw new OperatorError(`the server cannot read the ${each} of ${id.name}: ${fault}`);
  }
  return data;
};
