import { fromBinary } from '@bufbuild/protobuf';

import type { TaskExecution } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import { type TaskExecutionEvent, TaskExecutionEventSchema } from '../../proto/gen/platformidl/event/event_pb.js';
import { executionCodec } from '../../services/execution/events.js';
import { bytesOf } from '../../services/kernel/ports/payload-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type CallContents, eventAt, type RecordedContents } from '../query/recorded-contents.js';
import { reportedInputs, reportedOutputs } from '../query/reported-data.js';
import type { StoredDocument } from '../runtime/read-store.js';

/** The engine's message at the revision stored in a field of the document. */
const messageAt = async (
  contents: RecordedContents,
  { fields }: StoredDocument,
  field: 'inputs_at' | 'outputs_at',
): Promise<TaskExecutionEvent | undefined> => {
  const { [field]: revision, execution } = fields;
  if (typeof revision !== 'number') return undefined;
  const event = await eventAt(contents, executionCodec, execution as StreamName, BigInt(revision));
  if (event?.type !== 'TaskPhaseReported') return undefined;
  return fromBinary(TaskExecutionEventSchema, await bytesOf(event.data.message, contents.payloads));
};

export const inputsOf = (
  contents: CallContents,
  document: StoredDocument,
  { inputUri }: TaskExecution,
): Promise<LiteralMap | undefined> =>
  reportedInputs(contents, document, inputUri, () => messageAt(contents, document, 'inputs_at'));

export const outputsOf = (
  contents: CallContents,
  document: StoredDocument,
  { closure }: TaskExecution,
): Promise<LiteralMap | undefined> =>
  reportedOutputs(contents, document, closure, () => messageAt(contents, document, 'outputs_at'));
