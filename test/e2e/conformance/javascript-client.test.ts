import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { builtRpcs, publishedRpcs } from '../../support/requests/built.js';
import { type ControlPlane, startControlPlane } from '../../support/processes/control-plane.js';
import { type ExampleAgent, startExampleAgent } from '../../support/servers/example-agent.js';
import { type PublishedAnswer, type PublishedClient, publishedClient } from '../../support/clients/published-client.js';
import { agentRequests, wholeRequests } from '../../support/requests/whole-requests.js';

/** RPCs without required fields, so that an empty request is valid; those of agents are left out. */
const WITHOUT_FIELDS = new Set([
  'AdminService.ListProjects',
  'AdminService.GetDomains',
  'AdminService.GetVersion',
  'AdminService.ListMatchableAttributes',
  'AuthMetadataService.GetOAuth2Metadata',
  'AuthMetadataService.GetPublicClientConfig',
  'IdentityService.UserInfo',
]);

/** True for an RPC of the agents' services, which a control plane without agents answers with UNIMPLEMENTED. */
const isOfAgents = (rpc: string): boolean => rpc.includes('Agent');

describe('the published JavaScript client', () => {
  let plane: ControlPlane;
  let client: PublishedClient;
  beforeAll(async () => {
    plane = await startControlPlane();
    client = publishedClient(plane.server().ready.grpc);
  });
  afterAll(async () => {
    client.close();
    await plane.close();
  });

  /** Expects UNIMPLEMENTED from an RPC of the published interface that flightlog does not have. */
  const expectUnbuilt = (rpc: string, { code, message }: PublishedAnswer): void => {
    expect([code, message]).toEqual(['UNIMPLEMENTED', expect.stringContaining(rpc)]);
  };

  it.for(wholeRequests)(
    'gets the expected status and fields from %s',
    async ([rpc, request, code = 'OK', holds = {}]) => {
      const answer = await client.call(rpc, request);
      if (!builtRpcs.has(rpc)) {
        expectUnbuilt(rpc, answer);
        return;
      }
      expect([answer.code, answer.message]).toEqual([code, code === 'OK' ? '' : expect.stringMatching(/./u)]);
      expect(JSON.parse(JSON.stringify(answer.answer))).toMatchObject(holds);
    },
  );

  it.each(publishedRpcs.map(({ name }) => name))(
    'gets an error with a message for an empty request to %s, but OK where no field and no agent is needed',
    async (rpc) => {
      const answer = await plane.unchanged(() => client.call(rpc, {}));
      const lacking = isOfAgents(rpc) ? /^UNIMPLEMENTED$/u : /^(?:INVALID_ARGUMENT|NOT_FOUND)$/u;
      if (!builtRpcs.has(rpc)) expectUnbuilt(rpc, answer);
      else if (WITHOUT_FIELDS.has(rpc)) expect(answer.code).toBe('OK');
      else expect([answer.code, answer.message]).toEqual([expect.stringMatching(lacking), expect.stringMatching(/./u)]);
    },
  );

  it('is tested with a request to every RPC of every service', () => {
    expect(new Set(wholeRequests.map(([rpc]) => rpc))).toEqual(new Set(publishedRpcs.map(({ name }) => name)));
  });
});

describe('the published JavaScript client, at a control plane with an agent,', () => {
  let agent: ExampleAgent;
  let plane: ControlPlane;
  let client: PublishedClient;
  beforeAll(async () => {
    agent = await startExampleAgent('sensor');
    plane = await startControlPlane({ FLIGHTLOG_AGENTS: agent.configured() });
    client = publishedClient(plane.server().ready.grpc);
  });
  afterAll(async () => {
    client.close();
    await plane.close();
    agent.close();
  });

  it.for(agentRequests)('gets OK from %s, and nothing is recorded', async ([rpc, request]) => {
    expect(await plane.unchanged(() => client.call(rpc, request))).toMatchObject({ code: 'OK', message: '' });
  });
});
