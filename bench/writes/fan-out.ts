import { join } from 'node:path';
import { ExecutionMetadata_ExecutionMode } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { NodeExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { grpcClient, type GrpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { Bench } from '../bench.js';
import { processorMs } from '../processor-time.js';
import { createRequest, createRequests, DOMAIN, nodeEvent, PROJECT, registerHello } from '../load/workload.js';

const SERVICE = '/flyteidl.service.AdminService';
const IN_FLIGHT = 16;
const AT_MS = Date.UTC(2026, 0, 1);

/** Encodes the request that creates the child execution of a parent's node. */
const childOf = (parent: string, node: string): Uint8Array =>
  createRequest(`${parent}-${node}`, {
    mode: ExecutionMetadata_ExecutionMode.CHILD_WORKFLOW,
    parentNodeExecution: { nodeId: node, executionId: { project: PROJECT, domain: DOMAIN, name: parent } },
  });

const send = async (client: GrpcClient, method: string, request: Uint8Array): Promise<void> => {
  const { code, message } = await client.raw(`${SERVICE}/${method}`, request);
  if (code !== 'OK') throw new Error(`${method} returned ${code}: ${message}`);
};

/** Does what an engine does: a node of the parent is queued, its child is created, and the node is running. */
const launch = async (client: GrpcClient, parent: string, node: string): Promise<void> => {
  await send(client, 'CreateNodeEvent', nodeEvent(parent, node, NodeExecution_Phase.QUEUED, AT_MS));
  await send(client, 'CreateExecution', childOf(parent, node));
  await send(client, 'CreateNodeEvent', nodeEvent(parent, node, NodeExecution_Phase.RUNNING, AT_MS + 1));
};

/** Launches the children of the parent's nodes from number `from` to before `to`. */
const launchAll = async (client: GrpcClient, parent: string, from: number, to: number): Promise<void> => {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) await launch(client, parent, `n${next++}`);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
};

/**
 * One parent launches many children: compares the server's processor time for the last of them with that for the first.
 */
export const fanOut: Bench = {
  name: 'fan-out',
  target: 0.77, // the last may take 1.3 times as much as the first
  run: async ({ disk, count, nodeArgs }) => {
    const children = Math.ceil(count / 12);
    const fifth = Math.ceil(children / 5);
    const server = await startServerProcess({
      data: join(disk.directory, 'fan-out'),
      nodeArgs,
      env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` },
    });
    const client = grpcClient(server.ready.grpc);
    await registerHello(client);
    for (const request of createRequests('parent', 2)) await send(client, 'CreateExecution', request);
    /** Launches children; returns the server's processor time for each, in milliseconds. */
    const cost = async (parent: string, from: number, to: number): Promise<number> => {
      const before = processorMs(server.child.pid ?? 0);
      await launchAll(client, parent, from, to);
      return (processorMs(server.child.pid ?? 0) - before) / (to - from);
    };
    await cost('parent-0', 0, fifth); // the warm-up
    const first = await cost('parent-1', 0, fifth);
    await cost('parent-1', fifth, children - fifth);
    const last = await cost('parent-1', children - fifth, children);
    client.close();
    await server.stop();
    return [
      {
        name: `fan-out, the last ${fifth} of ${children} children, by processor time`,
        perSecond: 1_000 / last,
        baseline: { what: `the first ${fifth}`, perSecond: 1_000 / first },
        notes: { firstMsPerChild: first, lastMsPerChild: last },
      },
    ];
  },
};
