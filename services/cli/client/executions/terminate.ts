import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import { OperatorError } from '../../../config/operator-errors.js';
import { askOnTerminal } from '../../question.js';
import { connected } from '../connection/connect.js';
import type { ScopeFlags } from '../connection/flags.js';
import { print } from '../output/documents.js';
import { executionIdOf } from './execution-id.js';

/** The flags of `terminate`. */
export type TerminateFlags = ScopeFlags & { readonly cause: string; readonly yes: boolean };

/** Asks on a terminal. Without a terminal a program runs the command, and it counts as confirmed. */
const confirmed = async (question: string): Promise<boolean> =>
  !process.stdin.isTTY || /^y(?:es)?$/iu.test((await askOnTerminal(`${question} [y/N] `)).trim());

/**
 * Terminates an execution with a cause.
 *
 * @throws {OperatorError} when the person does not agree.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const terminate = (name: string, { cause, yes, ...flags }: TerminateFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const id = executionIdOf(name, flags);
    const path = `${id.project}/${id.domain}/${id.name}`;
    if (!yes && !(await confirmed(`Terminate ${path}? It cannot be undone.`)))
      throw new OperatorError(`${path} was not terminated`);
    await connection.call(AdminService.method.terminateExecution, { id, cause });
    print(`terminating ${path}`);
  });
