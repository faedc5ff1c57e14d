import { fromBinary } from '@bufbuild/protobuf';

import { ExecutionSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import { WorkflowExecutionEventSchema } from '../../proto/gen/platformidl/event/event_pb.js';
import { type ExecutionEvent, executionCodec } from '../../services/execution/events.js';
import { bytesOf } from '../../services/kernel/ports/payload-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import {
  eventAt,
  type RecordedContents,
  type CallContents,
  literalsAt,
  unlessUnreadable,
} from '../query/recorded-contents.js';
import type { StoredDocument } from '../runtime/read-store.js';

/** An execution's document is keyed by its stream. */
const eventOf = (
  contents: RecordedContents,
  { key }: StoredDocument,
  revision: bigint,
): Promise<ExecutionEvent | undefined> => eventAt(contents, executionCodec, key as StreamName, revision);

/**
 * The inputs of an execution, from the event that created it; `undefined` when there are none or they cannot be read.
 * Returned as the encoded bytes of a map, which may be large: literals are small messages, and decoding tens of
 * megabytes of them takes seconds.
 */
export const inputsOf = (contents: CallContents, document: StoredDocument): Promise<Uint8Array | undefined> =>
  unlessUnreadable(contents, { field: 'full_inputs', entity: document.key }, async () => {
    let revision = 0n;
    let event = await eventOf(contents, document, revision);
    // Voided attempts to create the execution precede the event that created it.
    while (event?.type === 'ExecutionVoided') event = await eventOf(contents, document, (revision += 1n));
    if (event?.type !== 'ExecutionCreated' || event.data.inputs === undefined) return undefined;
    return bytesOf(event.data.inputs, contents.payloads);
  });

const sentOutputs = async (contents: CallContents, document: StoredDocument): Promise<LiteralMap | undefined> => {
  const { outputs_at: revision } = document.fields;
  if (typeof revision !== 'number') return undefined;
  const event = await eventOf(contents, document, BigInt(revision));
  if (event?.type !== 'WorkflowPhaseReported') return undefined;
  const bytes = await bytesOf(event.data.message, contents.payloads);
  const { outputResult: result } = fromBinary(WorkflowExecutionEventSchema, bytes);
  return result.case === 'outputData' ? result.value : undefined;
};

/**
 * The outputs that the closure shows, as the engine sent or stored them; unset when they are in none of the configured
 * stores. An execution that shows a termination in place of its outputs has none.
 */
export const outputsOf = (contents: CallContents, document: StoredDocument): Promise<LiteralMap | undefined> =>
  unlessUnreadable(contents, { field: 'full_outputs', entity: document.key }, async () => {
    const result = fromBinary(ExecutionSchema, document.response).closure?.outputResult;
    if (result?.case === 'outputData') return sentOutputs(contents, document);
    // oxlint-disable-next-line typescript/no-deprecated -- the location is shown there and nowhere else
    const data = result?.case === 'outputs' ? result.value.data : undefined;
    return data?.case === 'uri' ? literalsAt(contents, data.value) : undefined;
  });
