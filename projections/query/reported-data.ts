import type { NodeExecutionClosure } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecutionClosure } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { NodeExecutionEvent, TaskExecutionEvent } from '../../proto/gen/platformidl/event/event_pb.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { type CallContents, literalsAt, unlessUnreadable } from './recorded-contents.js';

/** A report about a node or a task. */
type Report = NodeExecutionEvent | TaskExecutionEvent;

type ReadReport = () => Promise<Report | undefined>;

/**
 * The inputs of a node or task: those in the report, else those that the engine stored at the address. `undefined` when
 * there are none, they are in none of the configured stores, or they cannot be read.
 */
export const reportedInputs = (
  contents: CallContents,
  { key }: StoredDocument,
  inputUri: string,
  readReport: ReadReport,
): Promise<LiteralMap | undefined> =>
  unlessUnreadable(contents, { field: 'full_inputs', entity: key }, async () => {
    const input = (await readReport())?.inputValue;
    return input?.case === 'inputData' ? input.value : literalsAt(contents, inputUri);
  });

/**
 * The outputs of a node or task that its closure shows: those in the report, or those that the engine stored at the
 * address in the closure. `undefined` as for {@link reportedInputs}.
 */
export const reportedOutputs = (
  contents: CallContents,
  { key }: StoredDocument,
  closure: NodeExecutionClosure | TaskExecutionClosure | undefined,
  readReport: ReadReport,
): Promise<LiteralMap | undefined> =>
  unlessUnreadable(contents, { field: 'full_outputs', entity: key }, async () => {
    const shown = closure?.outputResult;
    // oxlint-disable-next-line typescript/no-deprecated -- the address is shown there and nowhere else
    if (shown?.case === 'outputUri') return literalsAt(contents, shown.value);
    if (shown?.case !== 'outputData') return undefined;
    const result = (await readReport())?.outputResult;
    return result?.case === 'outputData' ? result.value : undefined;
  });
