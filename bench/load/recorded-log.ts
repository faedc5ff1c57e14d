import { join } from 'node:path';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { Disk } from '../disk.js';
import { writeFrames } from './frames.js';
import { generateLoad } from './processes.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from './workload.js';

const EVENT = '/flyteidl.service.AdminService/CreateNodeEvent';
const CREATE = '/flyteidl.service.AdminService/CreateExecution';

/**
 * Has a server record executions and about `count` events of their nodes.
 *
 * @returns the server's data directory.
 */
export const recordedLog = async (disk: Disk, name: string, executions: number, count: number): Promise<string> => {
  const data = join(disk.directory, name);
  const framesFile = join(disk.directory, `${name}-frames`);
  const server = await startServerProcess({ data, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  for (const request of createRequests('bench', executions)) await client.raw(CREATE, request);
  client.close();
  const names = Array.from({ length: executions }, (_, index) => `bench-${index}`);
  const { requests } = nodeEvents(names, count);
  writeFrames(framesFile, requests);
  const target = { address: server.ready.grpc, path: EVENT, framesFile, from: 0, inFlight: 256 };
  await generateLoad({ ...target, count: requests.length });
  await server.stop();
  return data;
};
