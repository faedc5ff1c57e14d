import { setTimeout } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { NodeExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { NodePhaseReportedSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import type { GrpcClient } from '../../test/support/clients/grpc-client.js';
import type { LoadResult } from './load.js';
import { DOMAIN, PROJECT } from './workload.js';

/**
 * Checks that every response of a load has the status OK.
 *
 * @throws {Error} with the number of responses by status.
 */
export const assertAllOk = ({ statuses }: LoadResult): void => {
  const failures = Object.keys(statuses).filter((code) => code !== '0');
  if (failures.length > 0) throw new Error(`not every response is OK: ${JSON.stringify(statuses)}`);
};

/** The longest wait for the views, and the pause between two looks at them. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 5;

/** Counts the nodes of an execution that its view shows as SUCCEEDED. */
const succeededNodes = async (client: GrpcClient, name: string): Promise<number> => {
  const { nodeExecutions } = await client.call(AdminService.method.listNodeExecutions, {
    workflowExecutionId: { project: PROJECT, domain: DOMAIN, name },
    limit: 10_000,
  });
  return nodeExecutions.filter(({ closure }) => closure?.phase === NodeExecution_Phase.SUCCEEDED).length;
};

/**
 * Waits until the views of the executions together show `nodes` nodes as SUCCEEDED, which is the last phase that the
 * workload reports of every node. Callers call it as soon as they have the last response of the load, so the wait is
 * the time by which the views lag behind the log.
 *
 * @returns the time of the wait, in milliseconds.
 * @throws {Error} when the views do not show so many nodes after a minute, or when they show more.
 */
export const awaitViews = async (client: GrpcClient, executions: readonly string[], nodes: number): Promise<number> => {
  const start = performance.now();
  for (;;) {
    let succeeded = 0;
    for (const name of executions) succeeded += await succeededNodes(client, name);
    const waitedMs = performance.now() - start;
    if (succeeded === nodes) return waitedMs;
    if (succeeded > nodes || waitedMs > MAX_WAIT_MS)
      throw new Error(`the views show ${succeeded} succeeded nodes, not ${nodes}`);
    await setTimeout(POLL_MS);
  }
};

/**
 * Checks that the log has as many reports of node phases as were acknowledged, and none of them twice. Each report of
 * the workload has another execution, node or phase.
 *
 * @param expected the number of acknowledged reports.
 * @throws {Error} when the log has more or fewer reports, or one of them twice.
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
  if (seen.size !== expected) throw new Error(`the log has ${seen.size} reports of node phases, not ${expected}`);
};
