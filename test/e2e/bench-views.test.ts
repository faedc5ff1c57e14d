import { expect, it } from 'vitest';

import { awaitViews } from '../../bench/load/acknowledged.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from '../../bench/load/workload.js';
import { startControlPlane } from '../support/processes/control-plane.js';
import { grpcClient } from '../support/clients/grpc-client.js';

const SERVICE = '/flyteidl.service.AdminService';

it('benchmarks wait until the views show all nodes, and fail when the views show more', async () => {
  const plane = await startControlPlane({ FLIGHTLOG_PROJECTS: `["${PROJECT}"]` });
  const client = grpcClient(plane.server().ready.grpc);
  await registerHello(client);
  for (const request of createRequests('bench', 2)) await client.raw(`${SERVICE}/CreateExecution`, request);
  const names = ['bench-0', 'bench-1'];
  const { requests, nodes } = nodeEvents(names, 12); // 12 events: three for each of four nodes
  const waited = awaitViews(client, names, nodes);
  for (const request of requests)
    expect(await client.raw(`${SERVICE}/CreateNodeEvent`, request)).toMatchObject({ code: 'OK' });
  expect(await waited).toBeGreaterThan(0);
  await expect(awaitViews(client, names, nodes - 1)).rejects.toThrow(
    `the views show ${nodes} succeeded nodes, not ${nodes - 1}`,
  );
  client.close();
  await plane.close();
}, 60_000);
