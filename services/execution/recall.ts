import { type DescMessage, fromBinary } from '@bufbuild/protobuf';

import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import { canonicalBytes } from '../kernel/canonical.js';
import type { RecordedEvent } from '../kernel/event.js';
import { bytesOf, type PayloadStore } from '../kernel/payload-store.js';
import type { ExecutionCommand, ReportPhase } from './commands.js';
import { decodeReport, type EngineReport, type Entity } from './engine-report.js';
import type { Envelope } from './envelope.js';
import { WORKFLOW } from './phases.js';
import { instantKey, isSameTask } from './state.js';

const schemas: Readonly<Record<Entity, DescMessage>> = {
  workflow: WorkflowExecutionEventSchema,
  node: NodeExecutionEventSchema,
  task: TaskExecutionEventSchema,
};

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);

const canonical = (entity: Entity, message: Uint8Array): Uint8Array =>
  canonicalBytes(schemas[entity], fromBinary(schemas[entity], message));

const sameEntity = (report: EngineReport, { entity, nodeId, taskId, retryAttempt }: Envelope): boolean => {
  if (report.entity !== entity || report.nodeId !== nodeId || report.retryAttempt !== retryAttempt) return false;
  return report.taskId === undefined || taskId === undefined || isSameTask(report.taskId, taskId);
};

/** What was aborted because it had outlived its limit is recorded as that. */
const isSamePhase = ({ entity, phase }: EngineReport, said: number): boolean =>
  phase === said || (entity === 'workflow' && phase === WORKFLOW.TIMED_OUT && said === WORKFLOW.ABORTED);

/** Whether the two may be the same event: contents are compared only then. */
const isAlike = (report: EngineReport, envelope: Envelope): boolean =>
  isSamePhase(report, envelope.phase) &&
  report.phaseVersion === envelope.phaseVersion &&
  sameEntity(report, envelope) &&
  instantKey(report.occurredAt) === instantKey(envelope.occurredAt);

/** Compares what an event says with what was recorded; maps may be in another order. */
const comparison = ({ entity, message }: Envelope, payloads: PayloadStore) => {
  let wanted: Uint8Array | undefined;
  return async (report: EngineReport): Promise<boolean> => {
    const recorded = await bytesOf(report.message, payloads);
    if (sameBytes(recorded, message)) return true;
    wanted ??= canonical(entity, message);
    return sameBytes(canonical(entity, recorded), wanted);
  };
};

const recallReport = async (
  command: ReportPhase,
  past: AsyncIterable<readonly RecordedEvent[]>,
  payloads: PayloadStore,
): Promise<ReportPhase> => {
  const isSame = comparison(command.envelope, payloads);
  let { asOf, isRepetition } = command.recollection ?? { asOf: 0, isRepetition: false };
  for await (const page of past) {
    if (page[0]?.revision === BigInt(asOf)) asOf += page.length;
    for (const { type, data } of page) {
      if (type !== 'EngineReported' || isRepetition) continue;
      const report = decodeReport(data);
      isRepetition = isAlike(report, command.envelope) && (await isSame(report));
    }
  }
  return { ...command, recollection: { asOf, isRepetition } };
};

/** Reads of the stream, or of a part of it, whether an event was recorded before. */
export const recall = (
  command: ExecutionCommand,
  past: AsyncIterable<readonly RecordedEvent[]>,
  payloads: PayloadStore,
): Promise<ExecutionCommand> =>
  command.type === 'ReportPhase' ? recallReport(command, past, payloads) : Promise.resolve(command);
