import { TaskExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { executionCodec } from '../../../services/execution/events.js';
import { decodeEvent } from '../../../services/kernel/decode-event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';

/** What a log says of leases, read by the rules of the feed alone. */
export type LeaseModel = {
  /** How often each attempt of a task was recorded as started. */
  readonly starts: ReadonlyMap<string, number>;
  /** Events that an engine reported for an execution while another had its lease. */
  readonly foreign: readonly string[];
  /** The number of leases after the first of an execution. */
  readonly takeovers: number;
};

/** Reads the leases and the reports of a log. */
export const leaseModelOf = async (log: Pick<EventLog, 'readLog'>): Promise<LeaseModel> => {
  const [starts, holders, foreign] = [new Map<string, number>(), new Map<string, string>(), [] as string[]];
  let takeovers = 0;
  for await (const { events } of log.readLog({ after: 0n, filter: { categories: ['execution'] } }))
    for (const recorded of events) {
      const { type, data } = decodeEvent(executionCodec, recorded);
      if (type === 'WorkLeased') {
        if (holders.has(recorded.stream)) takeovers += 1;
        holders.set(recorded.stream, data.producerId);
      }
      if (type !== 'WorkflowPhaseReported' && type !== 'NodePhaseReported' && type !== 'TaskPhaseReported') continue;
      const holder = holders.get(recorded.stream);
      if (data.producerId !== holder) foreign.push(`${recorded.stream}: ${data.producerId}, not ${holder ?? 'nobody'}`);
      if (type !== 'TaskPhaseReported' || data.phase !== Phase.RUNNING || data.phaseVersion > 0) continue;
      const attempt = [recorded.stream, data.nodeId, data.retryAttempt].join('/');
      starts.set(attempt, (starts.get(attempt) ?? 0) + 1);
    }
  return { starts, foreign, takeovers };
};
