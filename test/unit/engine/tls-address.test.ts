import { describe, expect, it } from 'vitest';

import { tlsByAddress as tlsOfEngines } from '../../../engine/tls-address.js';
import { tlsByAddress as tlsOfAgents } from '../../../services/agents/tls-address.js';

describe.each([
  ['engines', tlsOfEngines],
  ['agents', tlsOfAgents],
])('the server name that %s send', (_, tlsByAddress) => {
  it.each(['10.1.2.3:8081', 'dns:///10.1.2.3:8081', 'dns://1.1.1.1/[::1]:8081', '[::1]:8081', 'ipv4:10.1.2.3:8081'])(
    'to %s is a name, because an address must not be sent',
    (target) => {
      const { options, verify } = tlsByAddress(target);
      expect(options).toEqual({ 'grpc.ssl_target_name_override': 'localhost' });
      expect(verify.checkServerIdentity).toBeTypeOf('function');
    },
  );

  it.each(['control-plane:8081', 'dns:///control-plane.flyte.svc:443', 'localhost:8081'])(
    'to %s is its own',
    (target) => {
      expect(tlsByAddress(target)).toEqual({ verify: {}, options: {} });
    },
  );
});
