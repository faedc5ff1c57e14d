import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { ignoredKeys, profileIn } from '../../../services/cli/client/connection/profile-file.js';
import { profileOf } from '../../../services/cli/client/connection/profile-of.js';

const home = mkdtempSync(join(tmpdir(), 'flightlog-home-'));
const emptyHome = join(home, 'none');
afterAll(() => rmSync(home, { recursive: true }));

mkdirSync(join(home, '.flyte'));
/** Writes a configuration file of flytectl below `home`, and gives its path. */
const write = (name: string, endpoint: string, ...lines: readonly string[]): string => {
  const path = join(home, '.flyte', name);
  writeFileSync(path, ['admin:', `endpoint: ${endpoint}`, 'insecure: true', ...lines].join('\n  '));
  return path;
};
write('config.yaml', 'dns:///usual:81');
write('staging.yaml', 'dns:///staging:81', 'authType: ExternalCommand', 'command: [print-token]');
const other = write('other.yaml', 'dns:///other:81');

/** The URL of a server over REST, or its target over gRPC, that a command calls. */
const serverOf = (...sources: Parameters<typeof profileOf>): string => {
  const { address } = profileOf(...sources);
  return address.kind === 'rest' ? address.url : address.target;
};

describe('the server of a command', () => {
  const ALL_VARIABLES = {
    FLIGHTLOG_SERVER: 'http://variable:80',
    FLIGHTLOG_PROFILE: 'staging',
    FLYTECTL_CONFIG: other,
  };
  const { FLIGHTLOG_SERVER: _, ...WITHOUT_SERVER } = ALL_VARIABLES;

  it.each([
    ['its flag', { server: 'http://flag:80', profile: 'staging' }, ALL_VARIABLES, 'http://flag:80'],
    ['the profile of its flag', { profile: 'staging' }, ALL_VARIABLES, 'staging:81'],
    ['the variable of the server', {}, ALL_VARIABLES, 'http://variable:80'],
    ['the variable of the profile', {}, WITHOUT_SERVER, 'staging:81'],
    ['the variable of flytectl', {}, { FLYTECTL_CONFIG: other }, 'other:81'],
    ['the usual file', {}, {}, 'usual:81'],
  ])('is that of %s, whatever the sources that come later name', (_name, flags, environment, server) => {
    expect(serverOf(flags, environment, home)).toBe(server);
  });

  it('is the sandbox of this machine when nothing names one', () => {
    expect(serverOf({}, {}, emptyHome)).toBe('http://127.0.0.1:8080');
  });

  it('may be named for gRPC, with TLS or without', () => {
    const { address } = profileOf({ server: 'grpc://host:81' }, {}, emptyHome);
    expect(address).toEqual({ kind: 'grpc', target: 'host:81', isPlain: true, skipVerify: false });
    expect(profileOf({ server: 'grpcs://host' }, {}, emptyHome).address).toMatchObject({
      target: 'host:443',
      isPlain: false,
    });
  });

  it('is refused with the source of a malformed address, or with the file of a profile that cannot be read', () => {
    expect(() => profileOf({ server: 'host:81' }, {}, emptyHome)).toThrow(/^--server: host:81: must be http:\/\//u);
    expect(() => profileOf({}, { FLIGHTLOG_SERVER: 'host' }, emptyHome)).toThrow(/^FLIGHTLOG_SERVER: host: must be/u);
    expect(() => profileOf({ profile: 'missing' }, {}, home)).toThrow(/missing\.yaml: ENOENT/u);
  });

  it('does not get the credentials of a profile when a flag names another server or a file with a token', () => {
    expect(profileOf({ profile: 'staging' }, {}, home).signIn).toEqual({ kind: 'command', command: ['print-token'] });
    expect(profileOf({ server: 'http://flag:80' }, WITHOUT_SERVER, home).signIn).toEqual({ kind: 'person' });
    expect(profileOf({ profile: 'staging', tokenFile: 't' }, {}, home).signIn).toEqual({
      kind: 'token-file',
      file: 't',
    });
  });
});

describe('the configuration file of flytectl', () => {
  const inFile = (text: string) => profileIn(text, 'config.yaml');

  it('may have a server with TLS and client credentials', () => {
    const profile = inFile(`
admin:
  endpoint: dns:///flyte.example.com
  authType: ClientSecret
  clientId: reports
  clientSecretLocation: /run/secret
  caCertFilePath: /etc/ca.pem
  insecureSkipVerify: true
  authorizationHeader: flyte-authorization
  scopes: [all]
console: { endpoint: 'https://flyte.example.com' }
logger: { level: 0 }
`);
    expect(profile).toEqual({
      address: {
        kind: 'grpc',
        target: 'flyte.example.com:443',
        isPlain: false,
        skipVerify: true,
        caFile: '/etc/ca.pem',
      },
      signIn: { kind: 'client-credentials', clientId: 'reports', secretFile: '/run/secret', scopes: ['all'] },
      header: 'flyte-authorization',
      consoleUrl: 'https://flyte.example.com',
      proxy: {},
      retryPolicy: { retries: 0, tryMs: 30_000, maxPauseMs: 8_000 },
      channel: {},
    });
  });

  it('may have proxies, retries and settings of the channel', () => {
    const profile = inFile(`
admin:
  endpoint: a:1
  proxyCommand: [print-token, --for, proxy]
  httpProxyURL: http://proxy.example.com:3128
  maxRetries: 4
  perRetryTimeout: 1m15s
  maxBackoffDelay: 500ms
  maxMessageSizeBytes: 1048576
  defaultServiceConfig: '{"loadBalancingConfig": [{"round_robin": {}}]}'
`);
    expect(profile).toMatchObject({
      proxy: { command: ['print-token', '--for', 'proxy'], issuerUrl: 'http://proxy.example.com:3128' },
      retryPolicy: { retries: 4, tryMs: 75_000, maxPauseMs: 500 },
      channel: { serviceConfig: '{"loadBalancingConfig": [{"round_robin": {}}]}', maxMessageBytes: 1_048_576 },
    });
  });

  it('may have keys that flightlog does not use; those of admin and console are listed by name', () => {
    const text = `
admin: { endpoint: a, useAuth: true, defaultOrg: acme, pkceConfig: { timeout: 5s } }
console: { endpoint: b, disabled: true }
logger: { level: 0 }
`;
    expect(ignoredKeys(text)).toEqual(['admin.defaultOrg', 'admin.pkceConfig', 'console.disabled']);
    expect(ignoredKeys('')).toEqual([]);
  });

  it.each([
    ['ExternalCommand', { kind: 'command', command: ['print-token'] }],
    ['Pkce', { kind: 'person', flow: 'browser' }],
    ['DeviceFlow', { kind: 'person', flow: 'device' }],
  ])('may ask for a sign-in by %s', (authType, signIn) => {
    expect(inFile(`admin: { endpoint: 'a:1', authType: ${authType}, command: [print-token] }`).signIn).toEqual(signIn);
  });

  it('is refused with its name, the key and the problem', () => {
    expect(() => inFile('admin: { endpoint: 7 }')).toThrow(/^config\.yaml: admin\.endpoint: /u);
    expect(() => inFile('admin: { endpoint: a, authType: Kerberos }')).toThrow(
      'config.yaml: admin.authType: Kerberos: must be Pkce, DeviceFlow, ClientSecret, ExternalCommand',
    );
    expect(() => inFile('admin: text')).toThrow(/^config\.yaml: admin: must be a mapping$/u);
    expect(() => inFile('admin: { endpoint: a, perRetryTimeout: soon }')).toThrow(
      /^config\.yaml: admin\.perRetryTimeout: must be a duration/u,
    );
    expect(() => inFile('admin: { endpoint: a, httpProxyURL: proxy }')).toThrow(
      'config.yaml: admin.httpProxyURL: must be http://HOST:PORT or https://HOST:PORT',
    );
    expect(() => inFile('admin: { endpoint: a, authorizationHeader: x y }')).toThrow(
      'config.yaml: admin.authorizationHeader: must be the name of a header',
    );
    expect(() => inFile('admin: { endpoint: a, defaultServiceConfig: none }')).toThrow(
      'config.yaml: admin.defaultServiceConfig: must be JSON',
    );
    expect(() => inFile('none')).toThrow(/^config\.yaml: must be a mapping with the section admin$/u);
    expect(() => inFile('storage: {}')).toThrow('config.yaml: admin.endpoint: names no server');
  });
});
