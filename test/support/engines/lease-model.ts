import { TaskExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type EngineReport, executionCodec, type ExecutionEvent } from '../../../services/execution/events.js';
import { decodeEvent } from '../../../services/kernel/decode-event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';

/** Counts of leases and of started attempts in a log, and the reports of engines that did not have the lease. */
export type LeaseModel = {
  /** The number of times that each attempt of a task was recorded as started. */
  readonly starts: ReadonlyMap<string, number>;
  /** Events that an engine reported for an execution whose lease it did not have, as `STREAM: ENGINE, not HOLDER`. */
  readonly foreign: readonly string[];
  /** The number of leases of all executions, without the first of each. */
  readonly takeovers: number;
};

const REPORTS: ReadonlySet<string> = new Set(['WorkflowPhaseReported', 'NodePhaseReported', 'TaskPhaseReported']);
const RUNNING: number = Phase.RUNNING;

/** True for the report that starts an attempt: its first RUNNING. */
const isStart = ({ entity, phase, phaseVersion }: EngineReport): boolean =>
  entity === 'task' && phase === RUNNING && phaseVersion === 0;

const isReport = (event: ExecutionEvent): event is Extract<ExecutionEvent, { readonly data: EngineReport }> =>
  REPORTS.has(event.type);

/** The leases and attempts of the events that were taken so far. */
class Leases implements LeaseModel {
  readonly starts = new Map<string, number>();
  readonly foreign: string[] = [];
  takeovers = 0;
  readonly #holders = new Map<string, string>();

  take(stream: string, event: ExecutionEvent): void {
    if (event.type === 'WorkLeased') this.#leased(stream, event.data.producerId);
    else if (isReport(event)) this.#reported(stream, event.data);
  }

  #leased(stream: string, producerId: string): void {
    if (this.#holders.has(stream)) this.takeovers += 1;
    this.#holders.set(stream, producerId);
  }

  #reported(stream: string, report: EngineReport): void {
    const holder = this.#holders.get(stream);
    if (report.producerId !== holder) this.foreign.push(`${stream}: ${report.producerId}, not ${String(holder)}`);
    if (!isStart(report)) return;
    const attempt = [stream, report.nodeId, report.retryAttempt].join('/');
    this.starts.set(attempt, (this.starts.get(attempt) ?? 0) + 1);
  }
}

/** Reads the leases and the reports of a log. */
export const leaseModelOf = async (log: Pick<EventLog, 'readLog'>): Promise<LeaseModel> => {
  const leases = new Leases();
  for await (const { events } of log.readLog({ after: 0n, filter: { categories: ['execution'] } }))
    for (const recorded of events) leases.take(recorded.stream, decodeEvent(executionCodec, recorded));
  return leases;
};
