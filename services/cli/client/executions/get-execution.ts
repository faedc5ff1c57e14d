import type { JsonValue } from '@bufbuild/protobuf';
import { jsonOf } from '../../../../interface/values/json-of.js';
import { type Execution, ExecutionSchema } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecution } from '../../../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { LiteralMap } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { connected } from '../connection/connect.js';
import type { Connection } from '../connection/connection.js';
import type { FormFlags, ScopeFlags } from '../connection/flags.js';
import { EXECUTION_COLUMNS } from '../entities/columns.js';
import { documentText, jsonOfMessage, print } from '../output/documents.js';
import { tableText } from '../output/table.js';
import { executionData } from './execution-data.js';
import { type ExecutionId, executionIdOf } from './execution-id.js';
import { treeText } from './tree.js';

/** The flags of `get execution`. */
export type GetFlags = ScopeFlags & FormFlags & { readonly asOf?: string; readonly values: boolean };

/** A moment of the past, or now. */
type Moment = { readonly asOf: string };

const PAGE = 100;

/** The nodes inside a node, or the outermost, with all that are inside them. */
const nodesOf = async (
  connection: Connection,
  id: ExecutionId,
  moment: Moment,
  uniqueParentId = '',
): Promise<readonly NodeExecution[]> => {
  const nodes: NodeExecution[] = [];
  let token = '';
  do {
    const request = { workflowExecutionId: id, limit: PAGE, token, uniqueParentId, ...moment };
    const page = await connection.call(AdminService.method.listNodeExecutions, request);
    for (const node of page.nodeExecutions) {
      nodes.push(node);
      if (node.metadata?.isParentNode === true) nodes.push(...(await nodesOf(connection, id, moment, node.id?.nodeId)));
    }
    ({ token } = page);
  } while (token !== '');
  return nodes;
};

const plainOf = (literals: LiteralMap | undefined): Record<string, unknown> =>
  Object.fromEntries(Object.entries(literals?.literals ?? {}).map(([name, literal]) => [name, jsonOf(literal)]));

/** The inputs and the outputs of an execution, each as `--inputs` of another one would take them. */
const valuesOf = async (connection: Connection, id: ExecutionId): Promise<JsonValue> => {
  const { fullInputs, fullOutputs } = await executionData(connection, id, ['inputs', 'outputs']);
  return { inputs: plainOf(fullInputs), outputs: plainOf(fullOutputs) } as JsonValue;
};

const printTable = async (connection: Connection, id: ExecutionId, execution: Execution, moment: Moment) => {
  print(`${tableText(EXECUTION_COLUMNS, [execution])}\n`);
  const width = process.stdout.isTTY ? process.stdout.columns : Infinity;
  for (const line of treeText({ execution, nodes: await nodesOf(connection, id, moment) }, width)) print(line);
};

/**
 * Prints an execution, now or as of a moment: with its nodes in a table, as a document, or its name. With `values` also
 * its inputs and outputs as of now; where the execution would be a document, these alone, so that there is one
 * document.
 *
 * @throws {OperatorError} when the server cannot read the values.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const getExecution = (name: string, flags: GetFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { output: form, asOf = '', values } = flags;
    const id = executionIdOf(name, flags);
    const execution = await connection.call(AdminService.method.getExecution, { id, asOf });
    if (form === 'name') print(execution.id?.name ?? '');
    else if (form === 'table') await printTable(connection, id, execution, { asOf });
    else if (!values) print(documentText(form, jsonOfMessage(ExecutionSchema, execution)));
    if (values) print(documentText(form === 'json' ? 'json' : 'yaml', await valuesOf(connection, id)));
  });
