import { create } from '@bufbuild/protobuf';
import { jsonOf } from '../../../../interface/values/json-of.js';
import { typeInWords } from '../../../../interface/values/type-text.js';
import { type Signal, type SignalList, SignalListSchema } from '../../../../proto/gen/platformidl/admin/signal_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../../../proto/gen/platformidl/service/signal_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import { connected } from '../connection/connect.js';
import type { Connection } from '../connection/connection.js';
import type { FormFlags, ScopeFlags } from '../connection/flags.js';
import { literalOfValue } from '../inputs/inputs.js';
import { documentText, jsonOfMessage, print } from '../output/documents.js';
import { type Column, tableText } from '../output/table.js';
import { type ExecutionId, executionIdOf } from './execution-id.js';

/** The flags of `signal`. */
export type SignalFlags = ScopeFlags & FormFlags & { readonly value?: string };

const COLUMNS: readonly Column<Signal>[] = [
  { header: 'SIGNAL', text: ({ id }) => id?.signalId ?? '' },
  { header: 'TYPE', text: ({ type }) => (type ? typeInWords(type) : '') },
  { header: 'VALUE', text: ({ value }) => (value ? JSON.stringify(jsonOf(value)) : '') },
];

const PAGE = 1_000;

/** Lists all signals of an execution. @throws {Refused} NOT_FOUND when there is no such execution. */
const listSignals = async (connection: Connection, id: ExecutionId): Promise<SignalList> => {
  const list = create(SignalListSchema);
  let token = '';
  do {
    const request = { workflowExecutionId: id, limit: PAGE, token };
    const page = await connection.call(SignalService.method.listSignals, request);
    list.signals.push(...page.signals);
    ({ token } = page);
  } while (token !== '');
  // The server gives an empty list for an execution that does not exist.
  if (list.signals.length === 0) await connection.call(AdminService.method.getExecution, { id });
  return list;
};

/**
 * Prints the signals of an execution: those that its gates wait for, and those that have got their value.
 *
 * @throws {Refused} when there is no such execution, or the server refuses; the message has its reason.
 */
export const signals = (execution: string, { output: form, ...flags }: SignalFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const page = await listSignals(connection, executionIdOf(execution, flags));
    if (form === 'table') print(tableText(COLUMNS, page.signals));
    else if (form === 'name') for (const { id } of page.signals) print(id?.signalId ?? '');
    else print(documentText(form, jsonOfMessage(SignalListSchema, page)));
  });

/**
 * Gives a signal its value, by its type; `true` approves a gate.
 *
 * @throws {OperatorError} when there is no such signal, or the value is not of its type.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const signal = (execution: string, signalId: string, flags: SignalFlags & { value: string }): Promise<void> =>
  connected(flags, async (connection) => {
    const executionId = executionIdOf(execution, flags);
    const { signals: known } = await listSignals(connection, executionId);
    const type = known.find(({ id }) => id?.signalId === signalId)?.type;
    if (!type) {
      const names = known.map(({ id }) => id?.signalId ?? '').join(', ');
      throw new OperatorError(`${executionId.name} waits for no signal ${signalId}; it has ${names || 'none'}`);
    }
    const value = literalOfValue(`signal ${signalId}`, type, flags.value);
    await connection.call(SignalService.method.setSignal, { id: { signalId, executionId }, value });
    print(`${signalId} is ${JSON.stringify(jsonOf(value))}`);
  });
