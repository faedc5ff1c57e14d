import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { configure } from '../../../services/config/configuration.js';
import {
  allSettings,
  fileInEnvironment,
  fromEnvironment,
  fromFile,
  serviceLinks,
} from '../../../services/config/sources.js';

/** Variables that Kubernetes sets in a pod for the Services `flightlog`, `flightlog-api` and `flightlog-grpc`. */
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
  it('are not the variables that Kubernetes sets for Services, even if a Service has the name of a setting', () => {
    expect(fromEnvironment({ ...LINKS, FLIGHTLOG_HTTP_PORT: '8080' })).toEqual([
      { path: ['http_port'], value: '8080', origin: 'FLIGHTLOG_HTTP_PORT' },
    ]);
    expect(serviceLinks({ ...LINKS, FLIGHTLOG_HTTP_PORT: '8080', PATH: '/bin' })).toEqual(Object.keys(LINKS));
  });

  it('are not taken for variables of a Service when they have a number as value', () => {
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

  it('may name the configuration file, but not by an empty text', () => {
    expect(fileInEnvironment({ FLIGHTLOG_CONFIG: 'a.yaml' })).toBe('a.yaml');
    expect(fileInEnvironment({})).toBeUndefined();
    expect(() => fileInEnvironment({ FLIGHTLOG_CONFIG: '' })).toThrow('FLIGHTLOG_CONFIG: is empty');
  });
});

describe('the settings in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-settings-'));
  const file = join(folder, 'flightlog.yaml');
  afterAll(() => rmSync(folder, { recursive: true }));
  /** The settings in a file with this text. */
  const inFile = (text: string) => {
    writeFileSync(file, text);
    return fromFile(file);
  };

  it.each([
    ['a section', 'tls:\n  # cert_file: /etc/tls.crt\nhttp_port: 8080\n'],
    ['a section in a section', 'task_resources:\n  limits:\nhttp_port: 8080\n'],
    ['a list', 'projects:\n  # - flytesnacks\nhttp_port: 8080\n'],
    ['a list of texts in a section', 'cors:\n  allowed_origins:\nhttp_port: 8080\n'],
    ['a mapping', 'registration:\n  task_types:\nhttp_port: 8080\n'],
  ])('may have %s without content, which is as if it were not there', (_what, text) => {
    expect(inFile(text)).toEqual([{ path: ['http_port'], value: 8080, origin: file }]);
    expect(configure(inFile(text))).toEqual(configure([{ path: ['http_port'], value: 8080, origin: file }]));
  });

  it.each([
    ['host:\n', 'host (from FILE): must be text'],
    ['tls:\n  cert_file:\n', 'tls.cert_file (from FILE): must be text'],
    ['tsl:\n', 'tsl (from FILE): is not a setting'],
    ['tls: []\n', 'tls (from FILE): must be a mapping'],
    ['auth:\n  # issuers: []\n', 'auth (from FILE): must be a mapping'],
    ['role:\n  # - api\n', 'role (from FILE): must be a list'],
  ])('are refused with %j', (text, message) => {
    expect(() => configure(inFile(text))).toThrow(message.replace('FILE', file));
  });
});
