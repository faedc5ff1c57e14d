import { join } from 'node:path';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import type { Bench } from '../bench.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad } from '../load/processes.js';
import { processorMs } from '../processor-time.js';
import { createRequest, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

const SERVICE = '/flyteidl.service.AdminService';
const IN_FLIGHT = 64;
/** Small enough that, with the default count, the last reports contain every phase. */
const NODES_IN_A_ROUND = 128;
/** gRPC status codes, as the load generator counts them. */
const OK = '0';
const ALREADY_EXISTS = '6';

/**
 * An engine that restarts in the middle of a long execution repeats its last reports: compares their rate with that of
 * the same reports the first time.
 */
export const repeats: Bench = {
  name: 'repeats',
  target: 0.5,
  run: async ({ disk, count, nodeArgs }) => {
    const framesFile = join(disk.directory, 'repeats');
    const { requests } = nodeEvents(['long'], Math.ceil(count / 2), NODES_IN_A_ROUND);
    const last = Math.ceil(requests.length / 30);
    writeFrames(framesFile, requests);
    const server = await startServerProcess({
      data: join(disk.directory, 'repeats-data'),
      nodeArgs,
      env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` },
    });
    const client = grpcClient(server.ready.grpc);
    await registerHello(client);
    await client.raw(`${SERVICE}/CreateExecution`, createRequest('long'));
    client.close();
    const report = async (from: number, to: number, status: string) => {
      const before = processorMs(server.child.pid ?? 0);
      const order = { framesFile, inFlight: IN_FLIGHT, address: server.ready.grpc, path: `${SERVICE}/CreateNodeEvent` };
      const { perSecond, statuses } = await generateLoad({ ...order, from, count: to - from });
      if (statuses[status] !== to - from)
        throw new Error(`not every report was as expected: ${JSON.stringify(statuses)}`);
      return { perSecond, ms: (processorMs(server.child.pid ?? 0) - before) / (to - from) };
    };
    await report(0, requests.length - last, OK);
    const first = await report(requests.length - last, requests.length, OK);
    const repeated = await report(requests.length - last, requests.length, ALREADY_EXISTS);
    await server.stop();
    return [
      {
        name: `repeats, the last ${last} of ${requests.length} reports again, ${IN_FLIGHT} in flight`,
        perSecond: repeated.perSecond,
        baseline: { what: 'the first time', perSecond: first.perSecond },
        notes: { processorMs: repeated.ms, firstProcessorMs: first.ms },
      },
    ];
  },
};
