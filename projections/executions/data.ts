import { fromBinary } from '@bufbuild/protobuf';

import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import { WorkflowExecutionEventSchema } from '../../proto/gen/platformidl/event/event_pb.js';
import { type ExecutionEvent, executionCodec } from '../../services/execution/events.js';
import { bytesOf } from '../../services/kernel/ports/payload-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { eventAt, type RecordedContents, type CallContents, unlessUnreadable } from '../query/recorded-contents.js';
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
  unlessUnreadable(contents, { field: 'full_inputs', of: document.key }, async () => {
    let revision = 0n;
    let event = await eventOf(contents, document, revision);
    // Voided attempts to create the execution precede the event that created it.
    while (event?.type === 'ExecutionVoided') event = await eventOf(contents, document, (revision += 1n));
    if (event?.type !== 'ExecutionCreated' || event.data.inputs === undefined) return undefined;
    return bytesOf(event.data.inputs, contents.payloads);
  });

/**
 * The outputs that the engine sent; unset when it sent a location, because the storage of engines cannot be read from
 * here.
 */
export const outputsOf = async (contents: CallContents, document: StoredDocument): Promise<LiteralMap | undefined> => {
  const { outputs_at: revision } = document.fields;
  if (typeof revision !== 'number') return undefined;
  return unlessUnreadable(contents, { field: 'full_outputs', of: document.key }, async () => {
    const event = await eventOf(contents, document, BigInt(revision));
    if (event?.type !== 'WorkflowPhaseReported') return undefined;
    const bytes = await bytesOf(event.data.message, contents.payloads);
    const { outputResult: result } = fromBinary(WorkflowExecutionEventSchema, bytes);
    return result.case === 'outputData' ? result.value : undefined;
  });
};
