import { fromBinary } from '@bufbuild/protobuf';
import { NodeExecution_Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { NodePhaseReportedSchema } from '../proto/gen/platformidl/eventlog/execution_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { sqliteLogReader } from '../services/store/log/sqlite-log-reader.js';
import type { GrpcClient } from '../test/support/grpc-client.js';
import type { LoadResult } from './load.js';
import { DOMAIN, PROJECT } from './workload.js';

/**
 * Checks that every response is OK.
 *
 * @throws {Error} listing the statuses.
 */
export const assertAllOk = ({ statuses }: LoadResult): void => {
  const others = Object.keys(statuses).filter((code) => code !== '0');
  if (others.length > 0) throw new Error(`not every response is OK: ${JSON.stringify(statuses)}`);
};

/**
 * Waits until the views show every node as ended.
 *
 * @returns milliseconds since the call, which follows the last response.
 * @throws {Error} when a view has not caught up after a minute, or shows another number of nodes.
 */
export const awaitViews = async (client: GrpcClient, executions: readonly string[], nodes: number): Promise<number> => {
  const start = performance.now();
  let seen = 0;
  for (const name of executions) {
    for (let ended = -1; ended < 0;) {
      const { nodeExecutions } = await client.call(AdminService.method.listNodeExecutions, {
        workflowExecutionId: { project: PROJECT, domain: DOMAIN, name },
        limit: 10_000,
      });
      const isDone = nodeExecutions.every(({ closure }) => closure?.phase === NodeExecution_Phase.SUCCEEDED);
      if (isDone) ended = nodeExecutions.length;
      else if (performance.now() - start > 60_000) throw new Error(`the view of ${name} does not catch up`);
      else await new Promise((resolve) => setTimeout(resolve, 5));
      if (isDone) seen += ended;
    }
  }
  if (seen !== nodes) throw new Error(`the views have ${seen} ended nodes, not ${nodes}`);
  return performance.now() - start;
};

/**
 * Checks that every acknowledged event is in the log exactly once.
 *
 * @throws {Error} when one is missing or doubled.
 */
export const assertInLogOnce = async (directory: string, expected: number): Promise<void> => {
  const log = await sqliteLogReader({ directory });
  const seen = new Set<string>();
  for await (const { events } of log.readLog({ after: 0n, filter: { types: ['NodePhaseReported'] } })) {
    for (const { stream, data } of events) {
      const { node, phase } = fromBinary(NodePhaseReportedSchema, data);
      const key = `${stream}/${node}/${phase}`;
      if (seen.has(key)) throw new Error(`${key} is in the log twice`);
      seen.add(key);
    }
  }
  await log.close();
  if (seen.size !== expected) throw new Error(`the log has ${seen.size} engine events, not ${expected}`);
};
