import { afterAll, describe } from 'vitest';

import { AsyncAgentService } from '../../../proto/gen/platformidl/service/agent_pb.js';
import { allRpcs } from '../../support/requests/built.js';
import { startControlPlane } from '../../support/processes/control-plane.js';
import { type ExampleAgent, startExampleAgent } from '../../support/servers/example-agent.js';
import { hostileCases, WAYS } from '../../support/requests/hostile-cases.js';

/** The RPCs that flightlog forwards to agents. */
const agentRpcs = allRpcs.filter(({ method }) => method.parent.file === AsyncAgentService.file);

describe.each(WAYS)('a malformed request to an agent over %s,', (way) => {
  let agent: ExampleAgent;
  hostileCases(way, agentRpcs, async () => {
    agent = await startExampleAgent('sensor');
    return startControlPlane({ FLIGHTLOG_AGENTS: agent.configured() });
  });
  afterAll(() => agent.close());
});
