import { type DescMessage, fromBinary } from '@bufbuild/protobuf';

import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import { canonicalBytes } from '../kernel/encoding/canonical.js';
import type { RecordedEvent } from '../kernel/event.js';
import { bytesOf, type PayloadStore } from '../kernel/ports/payload-store.js';
import type { ExecutionCommand, ReportPhase } from './commands.js';
import { type EngineReport, type Entity, reportIn } from './wire/engine-report.js';
import type { Envelope } from './wire/envelope.js';

const schemas: Readonly<Record<Entity, DescMessage>> = {
  workflow: WorkflowExecutionEventSchema,
  node: NodeExecutionEventSchema,
  task: TaskExecutionEventSchema,
};

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const canonical = (entity: Entity, message: Uint8Array): Uint8Array =>
  canonicalBytes(schemas[entity], fromBinary(schemas[entity], message));

/**
 * Compares the content of an event with recorded reports. Map entries may be in another order, so canonical bytes are
 * compared when the plain bytes differ.
 */
const comparison = ({ entity, message }: Envelope, payloads: PayloadStore) => {
  let wanted: Uint8Array | undefined;
  return async (report: EngineReport): Promise<boolean> => {
    const recorded = await bytesOf(report.message, payloads);
    if (sameBytes(recorded, message)) return true;
    wanted ??= canonical(entity, message);
    return sameBytes(canonical(entity, recorded), wanted);
  };
};

const compareReport = async (
  command: ReportPhase,
  past: readonly RecordedEvent[],
  payloads: PayloadStore,
): Promise<ReportPhase> => {
  const isSame = comparison(command.envelope, payloads);
  let isRepetition = false;
  for (const { type, data } of past) {
    const report = reportIn(type, data);
    isRepetition ||= report !== undefined && (await isSame(report));
  }
  return { ...command, comparison: { asOf: Number(past.at(-1)?.revision ?? -1n) + 1, isRepetition } };
};

/**
 * Completes a report command with whether one of the given past events has the same content. Other commands are
 * returned as they are.
 */
export const compareWithRecorded = (
  command: ExecutionCommand,
  past: readonly RecordedEvent[],
  payloads: PayloadStore,
): Promise<ExecutionCommand> =>
  command.type === 'ReportPhase' ? compareReport(command, past, payloads) : Promise.resolve(command);
