import { describe, expect, it } from 'vitest';

import { configure } from '../../../services/config/configuration.js';
import { fromEnvironment } from '../../../services/config/sources.js';

const ISSUER = { issuer: 'https://login.example.com', audience: 'a' };

const configuredWith = (key: string, value: unknown) => configure([{ path: key.split('.'), value, origin: 'test' }]);

describe('the configuration', () => {
  it('has defaults', () => {
    expect(configure([])).toMatchObject({ grpc_port: 81, http_port: 80, insecure: false, abort: { timeout: 600_000 } });
  });

  it('has REST on the port of HTTPS when there is a certificate', () => {
    const tls = { path: ['tls'], value: { cert_file: 'a.pem', key_file: 'a.key' }, origin: 'test' };
    expect(configure([tls]).http_port).toBe(443);
    expect(configure([tls, { path: ['http_port'], value: 8443, origin: 'test' }]).http_port).toBe(8443);
    expect(configure([]).tls).toEqual({ cert_file: '', key_file: '', client_ca_file: '' });
  });

  it('takes the last value of a setting, and reads numbers and durations from text', () => {
    const sources = [7, '8'].map((value) => ({ path: ['grpc_port'], value, origin: 'test' }));
    expect(configure(sources).grpc_port).toBe(8);
    expect(configuredWith('abort.timeout', '1h30m').abort.timeout).toBe(5_400_000);
    expect(configuredWith('abort.timeout', '1.1h').abort.timeout).toBe(3_960_000); // 1.1 * 3,600,000 is a little more
  });

  it('takes an empty variable as an empty list where the setting is a list', () => {
    expect(fromEnvironment({ FLIGHTLOG_CORS_ALLOWED_ORIGINS: '', FLIGHTLOG_HOST: '' })).toEqual([
      { path: ['cors', 'allowed_origins'], value: [], origin: 'FLIGHTLOG_CORS_ALLOWED_ORIGINS' },
      { path: ['host'], value: '', origin: 'FLIGHTLOG_HOST' },
    ]);
    expect(configure(fromEnvironment({ FLIGHTLOG_CORS_ALLOWED_ORIGINS: '' })).cors.allowed_origins).toEqual([]);
    expect(configure(fromEnvironment({ FLIGHTLOG_PROJECTS: '', FLIGHTLOG_AGENTS: '' }))).toMatchObject({
      projects: [],
      agents: [],
    });
    expect(configure(fromEnvironment({ FLIGHTLOG_KAFKA_BROKERS: '' })).kafka.brokers).toEqual([]);
    for (const variable of ['FLIGHTLOG_DOMAINS', 'FLIGHTLOG_ROLE'])
      expect(() => configure(fromEnvironment({ [variable]: '' }))).toThrow(`(from ${variable}): must not be empty`);
  });

  it.each(['[prod] {{ name }}: {{ phase }}', '[prod]', '{{ name }}', '{ {{ name }} }'])(
    'takes a variable as it is where the setting is a text, also when it begins like a list or a mapping: %s',
    (text) => {
      const { notifications } = configure(fromEnvironment({ FLIGHTLOG_NOTIFICATIONS_SUBJECT: text }));
      expect(notifications.subject).toBe(text);
    },
  );

  it('takes one role, several, or a text with several', () => {
    const store = { path: ['event_store'], value: 'esdb://log:2113', origin: 'test' };
    const roles = (value: unknown) => configure([store, { path: ['role'], value, origin: 'test' }]).role;
    expect(roles('api')).toEqual(['api']);
    expect(roles(['api', 'projector'])).toEqual(['api', 'projector']);
    expect(roles('projector,reactor')).toEqual(['projector', 'reactor']);
    expect(roles(['api, projector', 'reactor', 'api'])).toEqual(['api', 'projector', 'reactor']);
    expect(configuredWith('role', 'log').role).toEqual(['log']);
    expect(configure([]).role).toEqual(['all']);
  });

  it.each<[string, unknown, string]>([
    ['channels', [{ name: 'a', type: 'webhook' }], 'channels.0.url (from test): is needed'],
    ['channels', [{ name: 'a', type: 'pagerduty' }], 'channels.0.routing_key (from test): is needed'],
    ['channels', [{ name: 'mail', type: 'slack', url: 'https://x.example' }], 'must not have one name twice'],
    ['rules', [{ channel: 'a' }], 'rules.0.channel (from test): must be the name of a channel'],
    ['rules', [{ channel: 'mail', recipients: ['a@b.example'] }], 'must be the name of a channel'],
    ['slack_channel', 'a', 'must be the name of a channel'],
  ])('refuses notifications that cannot be sent: %s %j', (key, value, message) => {
    expect(() => configuredWith(`notifications.${key}`, value)).toThrow(message);
  });

  it.each([
    ['grpc_port', 'x', 'must be a port'],
    ['abort.timeout', 'soon', 'must be a duration'],
    ['tracing.sample_ratio', '1.1', 'must be a number from 0 to 1'],
    ['tracing.sample_ratio', '', 'must be a number from 0 to 1'],
    ['engine_feed.project_weights.atlas', 0, 'must be a number above 0'],
    ['execution.envs.STAGE', null, 'must be text'],
    ['agents.0.endpoint', { name: 'a' }, 'is needed'],
    ['tracing.otlp_endpoint', 'collector:4318', 'must be an http or https address'],
    ['domains', [], 'must not be empty'],
    ['domains', ['development', 'development'], 'must not have one domain twice'],
    ['projects', ['one', { id: 'one' }], 'must not have one project twice'],
    ['projects.0', 1, 'must be an id, or a mapping of id, name and description'],
    ['projects.0.id', 'Bad_Id', 'must be at most 63 lower-case letters'],
    ['projects.0.id', { id: '-a', name: 'a' }, 'must be at most 63 lower-case letters'],
    ['projects.0.name', { id: 'a', name: 'é'.repeat(33) }, 'must have at most 64 bytes'], // 66 bytes in UTF-8
    ['projects.0.name', { id: 'a', name: '' }, 'must not be empty'],
    ['projects.0.description', { id: 'a', description: 'x'.repeat(301) }, 'must have at most 300 bytes'],
    ['task_resources.limits.cpu', 'lots', 'must be a quantity'],
    ['task_resources.defaults.memory', '-1Gi', 'must be a quantity'],
    ['role', 'api', 'an embedded log can be used by one process only'],
    ['role', ['all', 'api'], 'all and log cannot be combined with other roles'],
    ['role', 'api,log', 'all and log cannot be combined with other roles'],
    ['role.0', 'worker', 'must be one of all, api, projector, reactor, log, not "worker"'],
    ['role.0', 7, 'must be one of all, api, projector, reactor, log, not 7'],
    ['projects', 'one', 'must be a list, such as [one, two]'],
    ['role', [], 'must not be empty'],
    ['nope', 1, 'is not a setting'],
    ['notifications.timeout', '0s', 'must be above 0, and at most 24 days'],
    ['notifications.timeout', '25d', 'must be above 0, and at most 24 days'],
    ['abort.timeout', '315576000001s', 'must be at most 315576000000s'],
    ['abort.timeout', `${'9'.repeat(400)}s`, 'must be at most 315576000000s'],
    ['engine_feed.lease_duration', '25d', 'must be above 0, and at most 24 days'],
    ['bridge.call_timeout', '24d1s', 'must be above 0, and at most 24 days'],
    ['bridge.call_timeout', '0s', 'must be above 0, and at most 24 days'],
    ['agents.0.timeout', { name: 'a', endpoint: 'a:1', timeout: '25d' }, 'must be above 0, and at most 24 days'],
    ['agents.0.stream_timeout', { name: 'a', endpoint: 'a:1', stream_timeout: '25d' }, 'must be above 0, and at most'],
    ['kafka.brokers.0', 'kafka-1:99999', 'must be HOST:PORT, with a port from 1 to 65535'],
    ['kafka.brokers.0', 'kafka-1:0', 'must be HOST:PORT, with a port from 1 to 65535'],
    ['kafka.brokers.0', '[::1]:9092', 'must be HOST:PORT, with a port from 1 to 65535; for an IPv6 address'],
    ['kafka.brokers.0', 'kafka://kafka-1:9092', 'must be HOST:PORT'],
    ['kafka.topic_partitions', 0, 'must be from 1 to 2147483647'],
    ['kafka.topic_partitions', 2_147_483_648, 'must be from 1 to 2147483647'],
    ['kafka.replication_factor', 32_768, 'must be from 0 to 32767'],
    ['auth.server.issuer', 'https://example.com/', 'must be http://HOST:PORT or https://HOST'],
    ['auth.server.issuer', 'https://example.com/tools/../flightlog', 'must be http://HOST:PORT or https://HOST'],
    ['auth.browser.address', 'https://example.com/tools?a', 'must be http://HOST:PORT or https://HOST'],
    ['auth.browser.address', 'https://example.com/a;b', 'must be http://HOST:PORT or https://HOST'],
    ['auth.issuers', [ISSUER, { ...ISSUER, audience: 'b' }], 'must name each issuer once, with all its audiences'],
  ])('says that %s cannot be %j, and where that came from', (key, value, reason) => {
    const [path = '', element] = key.split('.0');
    const whole = element === undefined ? value : [value];
    expect(() => configuredWith(path, whole)).toThrow(`${key} (from test): ${reason}`);
  });

  it.each([
    ['auth.server', { clients: [{ id: 'äpp' }] }, '.clients.0.id (from test): must have one or more printable ASCII'],
    [
      'auth.server.clients',
      [{ id: 'flightlog-console' }],
      '.0.id (from test): must not be flightlog-console, the client of the console',
    ],
    [
      'auth.server.clients',
      [{ id: 'app', redirect_uris: ['com.example.app:/end'] }],
      '.0.redirect_uris.0 (from test): must be an http or https address',
    ],
    [
      'auth.server.clients',
      [{ id: 'app', redirect_uris: ['https://a.example/#b'] }],
      '.0.redirect_uris.0 (from test): must have no fragment',
    ],
    ['auth.server.upstream', { issuer: 'https://', client_id: 'a' }, '.issuer (from test): must be an address'],
    [
      'auth.issuers',
      [{ ...ISSUER, issuer: 'login' }],
      '.0.issuer (from test): must be an http or https address, where there is neither jwks_url nor introspection',
    ],
  ])('names the part of %s that is not valid in %j', (key, value, reason) => {
    expect(() => configuredWith(key, value)).toThrow(`${key}${reason}`);
  });

  it('accepts an address with the path prefix of a proxy', () => {
    const address = 'https://example.com/tools/flightlog';
    expect(configuredWith('auth.server.issuer', address).auth.server.issuer).toBe(address);
    expect(configuredWith('auth.browser.address', address).auth.browser.address).toBe(address);
  });

  const together = (settings: Readonly<Record<string, unknown>>) =>
    configure(Object.entries(settings).map(([key, value]) => ({ path: key.split('.'), value, origin: key })));

  it.each([
    [{ grpc_port: 7001, http_port: 7001 }, 'http_port', 'must not be the port of gRPC too'],
    [{ grpc_port: 7001, eventstore_port: 7001 }, 'eventstore_port', 'must not be the port of gRPC or REST too'],
    [
      { http_port: 7001, eventstore_port: 7001, role: 'log' },
      'eventstore_port',
      'must not be the port of gRPC or REST',
    ],
    [
      { role: 'log', event_store: 'esdb://log:2113' },
      'event_store',
      'a log server serves the log of its data directory',
    ],
    [{ role: 'log', eventstore_mode: 'off' }, 'eventstore_mode', 'a log server has to serve the EventStoreDB'],
    [{ role: 'log', eventstore_format: 'json' }, 'eventstore_format', 'a log server serves events as they are stored'],
    [
      { payload_store: 's3://bkt/flightlog', 'data_proxy.engine_stores': ['s3://bkt'] },
      'data_proxy.engine_stores',
      'must not have the payloads and uploads of payload_store in it',
    ],
    [
      { payload_store: 's3://bkt/flightlog', 'data_proxy.engine_stores': ['s3://bkt/flightlog'] },
      'data_proxy.engine_stores',
      'must not have the payloads and uploads of payload_store in it',
    ],
    [
      { payload_store: 's3://bkt/flightlog', 'data_proxy.engine_stores': ['s3://bkt/flightlog/uploads/p'] },
      'data_proxy.engine_stores',
      'must not have the payloads and uploads of payload_store in it',
    ],
    [{ 'kafka.tls_ca': 'ca.pem' }, 'kafka.tls_ca', 'has no effect without kafka.tls'],
    [{ 'kafka.sasl_password': 'secret' }, 'kafka.sasl_password', 'has no effect without kafka.sasl_username'],
  ])('refuses the settings %j', (settings, key, reason) => {
    expect(() => together(settings)).toThrow(`${key} (from ${key}): ${reason}`);
  });

  it.each(['tls.key_file', 'tls.client_ca_file'])('names the setting that is missing beside %s', (key) => {
    const reason = 'tls.cert_file: must be given where tls.key_file or tls.client_ca_file is given';
    expect(() => together({ [key]: 'some.pem' })).toThrow(reason);
  });

  it('lets engines have a prefix of their own in the bucket of the payloads', () => {
    const stores = (payloads: string) =>
      together({ payload_store: payloads, 'data_proxy.engine_stores': ['s3://bkt/metadata'] }).data_proxy.engine_stores;
    for (const payloads of ['s3://bkt', 's3://bkt/flightlog', 's3://bkt/metadata/flightlog?endpoint=http://other'])
      expect(stores(payloads)).toHaveLength(1);
    expect(() => stores('s3://bkt/metadata/flightlog')).toThrow('data_proxy.engine_stores');
  });

  it('knows the bucket of the payloads however the address of its server is written', () => {
    const settings = {
      payload_store: 's3://bkt?endpoint=http://store:9000',
      'data_proxy.engine_stores': ['s3://bkt?endpoint=http://Store:9000/'],
    };
    expect(() => together(settings)).toThrow('data_proxy.engine_stores');
  });

  it('lets a process without gRPC use the port of gRPC for another server, and all ports be 0', () => {
    const projector = { role: 'projector', event_store: 'esdb://log:2113' };
    expect(together({ ...projector, grpc_port: 7001, http_port: 7001 }).http_port).toBe(7001);
    expect(together({ role: 'log', eventstore_port: 81 }).eventstore_port).toBe(81);
    expect(together({ grpc_port: 0, http_port: 0, eventstore_port: 0 }).grpc_port).toBe(0);
  });
});
