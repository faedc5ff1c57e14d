import { describe } from 'vitest';

import { publishedRpcs } from '../../support/requests/built.js';
import { type ControlPlane, startControlPlane } from '../../support/processes/control-plane.js';
import { hostileCases, isAskedOver, WAYS } from '../../support/requests/hostile-cases.js';
import { publishedClient } from '../../support/clients/published-client.js';
import { wholeRequests } from '../../support/requests/whole-requests.js';

/** Starts a control plane, and sends it all whole requests, so that what malformed requests name is there. */
const startWithWholeRequests = async (): Promise<ControlPlane> => {
  const plane = await startControlPlane();
  const published = publishedClient(plane.server().ready.grpc);
  for (const [rpc, request] of wholeRequests) await published.call(rpc, request);
  published.close();
  return plane;
};

describe.each(WAYS)('a malformed request over %s,', (way) => {
  const rpcs = publishedRpcs.filter(({ method }) => isAskedOver(way, method));
  hostileCases(way, rpcs, startWithWholeRequests);
});
