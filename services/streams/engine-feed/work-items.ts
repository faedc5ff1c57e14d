import {
  QualityOfService_Tier as Tier,
  type WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { ExecutionCreated } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { endsExecution, executionCodec, type ExecutionEvent } from '../../execution/events.js';
import { decodeEvent, recordedMetadata } from '../../kernel/decode-event.js';
import type { RecordedEvent } from '../../kernel/event.js';
import type { ExecutionId } from '../../kernel/execution-id.js';
import type { StreamName } from '../../kernel/stream.js';
import type { EngineRequirements } from './work-order.js';

/**
 * The stored types of events that the list of work is folded from. An `EngineReported` is decoded as the report of its
 * entity, such as `WorkflowPhaseReported`.
 */
export const WORK_TYPES = [
  'ExecutionCreated',
  'WorkLeased',
  'WorkReturned',
  'WorkflowPhaseReported',
  'EngineReported',
  'TerminationRequested',
  'ExecutionExpired',
] as const;

const FOLDED: ReadonlySet<string> = new Set(WORK_TYPES);

/** An execution that has not ended. Only the fold of the log changes it. */
export type WorkItem = {
  readonly stream: StreamName;
  readonly id: ExecutionId;
  readonly lane: EngineRequirements;
  readonly tier: Tier;
  readonly createdAtMs: number;
  readonly budgetMs: number | undefined;
  /** The last lease, until it is returned. */
  lease: { readonly number: number; readonly session: string } | undefined;
  isAborting: boolean;
  /** True when an engine outside the feed has begun the execution. */
  isElsewhere: boolean;
};

/** A change of an execution by an event. */
export type WorkChange =
  | { readonly item: WorkItem; readonly kind: 'created' | 'leased' | 'returned' | 'aborting' | 'elsewhere' }
  | { readonly item: WorkItem; readonly kind: 'ended'; readonly phase: Phase };

const laneOf = (id: ExecutionId, { engine }: ExecutionCreated): EngineRequirements => ({
  project: id.project,
  domain: id.domain,
  clusterLabel: engine?.clusterLabel?.value ?? '',
  clusterPool: engine?.clusterAssignment?.clusterPoolName ?? '',
});

const NANOS_IN_MS = 1e6;

const itemOf = (recorded: RecordedEvent, created: ExecutionCreated): WorkItem => {
  const { project = '', domain = '', name = '' } = created.id ?? {};
  const id = { project, domain, name };
  const budget = created.engine?.queueingBudget;
  return {
    stream: recorded.stream,
    id,
    lane: laneOf(id, created),
    tier: created.engine?.tier ?? Tier.UNDEFINED,
    createdAtMs: recordedMetadata(recorded).recordedAtMs,
    budgetMs: budget && Number(budget.seconds) * 1_000 + budget.nanos / NANOS_IN_MS,
    lease: undefined,
    isAborting: false,
    isElsewhere: false,
  };
};

/** Changes an execution by an event after its first. */
const changed = (item: WorkItem, event: ExecutionEvent): Exclude<WorkChange['kind'], 'ended'> | undefined => {
  switch (event.type) {
    case 'WorkLeased':
      item.lease = { number: Number(event.data.number), session: event.data.session };
      return 'leased';
    case 'WorkReturned':
      if (item.lease?.number === Number(event.data.number)) item.lease = undefined;
      return 'returned';
    case 'TerminationRequested':
      item.isAborting = true;
      return 'aborting';
    case 'WorkflowPhaseReported':
      if (item.lease !== undefined || item.isElsewhere) return undefined;
      item.isElsewhere = true;
      return 'elsewhere';
    default:
      return undefined;
  }
};

/** The executions that have not ended, folded from the log. */
export class WorkItems {
  readonly #items = new Map<StreamName, WorkItem>();

  of(stream: StreamName): WorkItem | undefined {
    return this.#items.get(stream);
  }

  /** True when an execution that has not ended has the property. */
  some(has: (item: WorkItem) => boolean): boolean {
    for (const item of this.#items.values()) if (has(item)) return true;
    return false;
  }

  /**
   * Folds an event of an execution; `undefined` when it changes nothing here.
   *
   * @throws {StreamParked} when this release cannot read it.
   */
  fold(recorded: RecordedEvent): WorkChange | undefined {
    if (!FOLDED.has(recorded.type)) return undefined;
    const event = decodeEvent(executionCodec, recorded);
    if (event.type === 'ExecutionCreated') return this.#created(recorded, event.data);
    const item = this.#items.get(recorded.stream);
    if (item === undefined) return undefined;
    if (endsExecution(event)) return this.#ended(item, event.data.phase);
    const kind = changed(item, event);
    return kind && { item, kind };
  }

  #ended(item: WorkItem, phase: number): WorkChange {
    this.#items.delete(item.stream);
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- reports have phases as plain numbers
    return { item, kind: 'ended', phase };
  }

  #created(recorded: RecordedEvent, created: ExecutionCreated): WorkChange {
    const item = itemOf(recorded, created);
    this.#items.set(item.stream, item);
    return { item, kind: 'created' };
  }
}
