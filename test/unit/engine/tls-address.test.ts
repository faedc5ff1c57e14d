import type { PeerCertificate } from 'node:tls';
import { describe, expect, it } from 'vitest';

import { tlsByAddress as tlsOfEngines } from '../../../engine/tls-address.js';
import { tlsByAddress as tlsOfAgents } from '../../../services/agents/tls-address.js';

const certificateFor = (address: string): PeerCertificate =>
  ({ subject: {}, subjectaltname: `IP Address:${address}` }) as unknown as PeerCertificate;

describe.each([
  ['engines', tlsOfEngines],
  ['agents', tlsOfAgents],
])('the server name that %s send', (_, tlsByAddress) => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['10.1.2.3:8081', '10.1.2.3'],
    ['dns:10.1.2.3:8081', '10.1.2.3'],
    ['dns:///10.1.2.3:8081', '10.1.2.3'],
    ['dns://1.1.1.1/[::1]:8081', '::1'],
    ['[::1]:8081', '::1'],
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:db8::1:8081', '2001:db8::1:8081'], // no port: one has to be after a bracket
    ['ipv6:2001:db8::1', '2001:db8::1'],
    ['ipv6:[2001:db8::1]:8081', '2001:db8::1'],
    ['ipv4:10.1.2.3:8081', '10.1.2.3'],
    ['ipv4:10.1.2.3:8081,10.1.2.4:8081', '10.1.2.3'],
  ])(
    'to %s is "localhost", because an address must not be sent, and the certificate must be for %s',
    (target, address) => {
      const { options, verify } = tlsByAddress(target);
      expect(options).toEqual({ 'grpc.ssl_target_name_override': 'localhost' });
      expect(verify.checkServerIdentity?.('localhost', certificateFor(address))).toBeUndefined();
      expect(verify.checkServerIdentity?.('localhost', certificateFor('2001:db8::2'))).toBeInstanceOf(Error);
    },
  );

  it.each(['control-plane:8081', 'dns:///control-plane.flyte.svc:443', 'localhost:8081', 'localhost'])(
    'to %s is the host name in it, as by default',
    (target) => {
      expect(tlsByAddress(target)).toEqual({ verify: {}, options: {} });
    },
  );
});
