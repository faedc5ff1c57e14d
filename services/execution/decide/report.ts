import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

import type { Decision } from '../../kernel/aggregate.js';
import type { Content } from '../../kernel/ports/payload-store.js';
import type { ReportPhase } from '../commands.js';
import { writeTaskId } from '../wire/engine-report.js';
import type { Envelope } from '../wire/envelope.js';
import { type ExecutionEvent, phaseReported } from '../events.js';
import { isTerminal } from '../phases.js';
import type { ExecutionRefusal } from '../refusals.js';
import { type ExecutionState, isDefaultProducer, type Reported, type TaskAttemptState } from '../state.js';
import { similarReports } from '../state/reports.js';

export type ExecutionDecision = Decision<ExecutionEvent, ExecutionRefusal>;

export const accepted = (...events: readonly ExecutionEvent[]): ExecutionDecision => ({ kind: 'accepted', events });

export const refused = (refusal: ExecutionRefusal, ...events: readonly ExecutionEvent[]): ExecutionDecision => ({
  kind: 'refused',
  refusal,
  events,
});

/** The event that records an envelope. */
const reported = (envelope: Envelope, samePhase: boolean, closed?: Content): ExecutionEvent =>
  phaseReported({
    entity: envelope.entity,
    nodeId: envelope.nodeId,
    taskId: envelope.taskId,
    retryAttempt: envelope.retryAttempt,
    phase: envelope.phase,
    phaseVersion: envelope.phaseVersion,
    occurredAt: envelope.occurredAt,
    producerId: envelope.producerId,
    message: { content: { case: 'inline', value: envelope.message } },
    messageHash: envelope.messageHash,
    closed,
    samePhase,
  });

/** The event of a report that is a new phase or a new version of one. */
export const newReport = ({ envelope }: ReportPhase, closed?: Content): ExecutionEvent =>
  reported(envelope, false, closed);

export const acceptedReport = (command: ReportPhase, closed?: Content): ExecutionDecision =>
  accepted(newReport(command, closed));

const alreadyRecorded = ({ entity, phase, phaseVersion }: Envelope): ExecutionRefusal => ({
  kind: 'phase-recorded',
  entity,
  phase,
  version: phaseVersion,
});

/** Refuses a report as already recorded, and records nothing. */
export const repeatedReport = ({ envelope }: ReportPhase): ExecutionDecision => refused(alreadyRecorded(envelope));

/**
 * Refuses a report whose phase is known and whose content is new. The content is recorded; the engine gets "already
 * recorded".
 */
export const repeatedPhase = ({ envelope }: ReportPhase): ExecutionDecision =>
  refused(alreadyRecorded(envelope), reported(envelope, true));

/** The refusal of an event whose producer is not the cluster that the execution belongs to. */
export const foreignProducer = (state: ExecutionState, { envelope }: ReportPhase): ExecutionRefusal | undefined => {
  const { producerId } = envelope;
  if (isDefaultProducer(producerId) || producerId === state.cluster) return undefined;
  return { kind: 'incompatible-cluster', cluster: producerId, stored: state.cluster };
};

/**
 * `repeated` when an event was recorded before; `unsure` with the revisions to read when the state alone cannot tell.
 */
export type EarlierReport = 'new' | 'repeated' | Extract<ExecutionDecision, { readonly kind: 'unsure' }>;

/**
 * Tells whether an event was recorded before. The state finds the entity's reports that may have the same phase,
 * version and time; comparing their recorded contents decides. A command is decided again when another process has
 * appended to the stream meanwhile: revisions that were compared before are not read again.
 */
export const earlierReport = (
  state: ExecutionState,
  known: Reported | undefined,
  command: ReportPhase,
): EarlierReport => {
  const { envelope, comparison } = command;
  if (known === undefined) return 'new';
  if (comparison?.isRepetition === true) return 'repeated';
  const at = similarReports(state, { last: known.last, from: comparison?.asOf ?? 0 }, envelope);
  return at.length === 0 ? 'new' : { kind: 'unsure', at };
};

/** True for an engine's report of the end of an entity whose ABORTED was only inferred: the report replaces it. */
export const isReplacedBy = (known: Reported, { entity, phase }: Envelope): boolean =>
  known.isInferred && isTerminal(entity, phase);

const writeOpenTask = (writer: BinaryWriter, nodeId: string, { id, attempt }: TaskAttemptState): void => {
  writer.tag(2, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(nodeId);
  writeTaskId(writer, 2, id);
  if (attempt !== 0) writer.tag(3, WireType.Varint).uint32(attempt);
  writer.join();
};

/**
 * An encoded `eventlog.OpenEntities`: the nodes and tasks that are open and will be closed with the execution. Absent
 * when there are none.
 */
export const openEntities = ({ nodes }: ExecutionState): Content | undefined => {
  const writer = new BinaryWriter();
  for (const [nodeId, node] of nodes)
    if (!isTerminal('node', node.phase)) writer.tag(1, WireType.LengthDelimited).string(nodeId);
  for (const [nodeId, { tasks }] of nodes)
    for (const task of tasks) if (!isTerminal('task', task.phase)) writeOpenTask(writer, nodeId, task);
  const value = writer.finish();
  return value.length === 0 ? undefined : { content: { case: 'inline', value } };
};
