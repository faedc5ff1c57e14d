import { describe, expect, it } from 'vitest';

import { allSettings, fromEnvironment, serviceLinks } from '../../../services/config/sources.js';

/** The variables that Kubernetes sets in a pod for the Services `flightlog`, `flightlog-api` and `flightlog-grpc`. */
const LINKS = {
  FLIGHTLOG_SERVICE_HOST: '10.0.0.11',
  FLIGHTLOG_SERVICE_PORT: '8081',
  FLIGHTLOG_SERVICE_PORT_GRPC_WEB: '8081',
  FLIGHTLOG_PORT: 'tcp://10.0.0.11:8081',
  FLIGHTLOG_PORT_8081_TCP: 'tcp://10.0.0.11:8081',
  FLIGHTLOG_PORT_8081_TCP_PROTO: 'tcp',
  FLIGHTLOG_PORT_8081_TCP_PORT: '8081',
  FLIGHTLOG_PORT_8081_TCP_ADDR: '10.0.0.11',
  FLIGHTLOG_API_SERVICE_HOST: 'fd00::11',
  FLIGHTLOG_API_PORT: 'udp://[fd00::11]:53',
  FLIGHTLOG_API_PORT_53_UDP_PROTO: 'udp',
  FLIGHTLOG_GRPC_PORT: 'tcp://10.0.0.12:8081',
  FLIGHTLOG_GRPC_PORT_8081_TCP_ADDR: '10.0.0.12',
};

describe('the settings in the environment', () => {
  it('are not what Kubernetes says of Services, also where a Service has the name of a setting', () => {
    expect(fromEnvironment({ ...LINKS, FLIGHTLOG_HTTP_PORT: '8080' })).toEqual([
      { path: ['http_port'], value: '8080', origin: 'FLIGHTLOG_HTTP_PORT' },
    ]);
    expect(serviceLinks({ ...LINKS, FLIGHTLOG_HTTP_PORT: '8080', PATH: '/bin' })).toEqual(Object.keys(LINKS));
  });

  it('have no name that a Service could take away', () => {
    const named = Object.fromEntries(allSettings.map(({ variable }) => [variable, '8081']));
    expect(serviceLinks(named)).toEqual([]);
  });

  it.each([
    ['FLIGHTLOG_PORT', '8081'],
    ['FLIGHTLOG_PROT', 'tcp://10.0.0.11:8081'],
    ['FLIGHTLOG_SERVICE_NAME', 'flightlog'],
    ['FLIGHTLOG_PORT_8081_TCP_NAME', 'grpc'],
    ['FLIGHTLOG_PORT_HTTP_TCP_ADDR', '10.0.0.11'],
    ['FLIGHTLOG_grpc_port', '8081'],
  ])('are refused when they are unknown: %s=%s', (variable, value) => {
    expect(() => fromEnvironment({ [variable]: value })).toThrow(`${variable}: is not a setting`);
  });
});
