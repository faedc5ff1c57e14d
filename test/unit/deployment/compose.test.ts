import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';

import { configure, type GivenSetting } from '../../../services/config/configuration.js';
import { assertAllowed } from '../../../services/cli/insecure.js';
import { fromEnvironment } from '../../../services/config/sources.js';
import { CHECKOUT, flightlog } from '../../support/processes/command.js';
import {
  composeFile,
  type ComposeService,
  fileText,
  namesOf,
  networksOf,
  servicesOf,
} from '../../support/processes/compose.js';

const file = composeFile();
/** The combinations of profiles that people start, each with its names. */
const PROFILES = ['one', 'single', 'cluster', 'one engine', 'single engine', 'cluster engine'].map(
  (names) => [names, names.split(' ')] as const,
);
const services = Object.entries(file.services);
const isOurs = ({ image = '' }: ComposeService): boolean => image.startsWith('flightlog:');
const ours = services.filter(([, service]) => isOurs(service));

/** The compose command of this machine, of version 2 or later; undefined when there is none. */
const composeTool = (): readonly string[] | undefined =>
  [['docker-compose'], ['docker', 'compose']].find(([command = '', ...args]) =>
    /^v?[2-9]/u.test(spawnSync(command, [...args, 'version', '--short'], { encoding: 'utf8' }).stdout),
  );

const tool = composeTool();
const isRequired = process.env['FLIGHTLOG_TEST_REQUIRES_COMPOSE'] === '1';

/** The flags of a command line as settings. */
const flagsIn = (args: readonly string[]): readonly GivenSetting[] =>
  args.flatMap((flag, at) => {
    if (!flag.startsWith('--')) return [];
    const path = flag === '--kafka' ? ['kafka', 'brokers'] : [flag.slice(2).replaceAll('-', '_')];
    return [{ path, value: args[at + 1], origin: flag }];
  });

/** True for a service that other programs call: the engine only calls, and one that runs mongosh ends. */
const servesCalls = ({ command }: ComposeService): boolean => command?.[0] !== 'engine' && command?.[0] !== 'mongosh';

/** True for a service with a health check, its own or that of the image of flightlog. */
const isWatched = ({ healthcheck, ...service }: ComposeService): boolean =>
  healthcheck?.disable !== true && (healthcheck?.test !== undefined || isOurs(service));

const dockerfile = fileText('Dockerfile').replaceAll(/^#.*$/gmu, '');

/** The environment variables that the image sets. */
const imageEnvironment = Object.fromEntries(
  [...dockerfile.matchAll(/\b(FLIGHTLOG_\w+)=(\S+)/gu)].map(([, name = '', value = '']) => [name, value]),
);

/** The settings of a process of flightlog: of the image, of its environment, and of its flags. */
const settingsOf = ({ command = [], environment = {} }: ComposeService) =>
  configure([...fromEnvironment({ ...imageEnvironment, ...environment }), ...flagsIn(command)]);

/** The hosts that a text names with their ports. */
const hostsIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?:^|[/,@])([a-z][a-z0-9-]*):\d+/gu)].map(([, host = '']) => host);

describe('docker-compose.yml', () => {
  it('is what the schema of the Compose Specification allows', () => {
    const schema = JSON.parse(fileText('test/fixtures/compose/compose-spec.json')) as object;
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    ajv.validate(schema, file);
    expect(ajv.errors ?? []).toEqual([]);
    expect(ajv.validate(schema, { services: { a: { imagine: 'b' } } })).toBe(false);
  });

  it.skipIf(tool === undefined && !isRequired).each(PROFILES)(
    'is valid for the compose tool, with the profiles %s',
    (_names, profiles) => {
      const [command = '', ...args] = tool ?? [];
      const flags = profiles.flatMap((profile) => ['--profile', profile]);
      const { status, stderr } = spawnSync(command, [...args, ...flags, 'config', '--quiet'], {
        cwd: CHECKOUT,
        encoding: 'utf8',
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    },
  );

  it.each(PROFILES)('starts with the profiles %s all services that its services require', (_names, profiles) => {
    const started = servicesOf(file, profiles);
    const names = new Set(started.map(([name]) => name));
    for (const [name, { depends_on: needs = {} }] of started)
      for (const [needed, { required }] of Object.entries(needs))
        expect(required === false || names.has(needed), `${name} needs ${needed}`).toBe(true);
  });

  it.each(PROFILES)(
    'with the profiles %s starts a host of each database URL, and every host that a command names',
    (_names, profiles) => {
      const started = servicesOf(file, profiles);
      const reachable = new Set(started.flatMap(([name, service]) => namesOf(name, service)));
      for (const [name, { environment = {}, command = [] }] of started) {
        const databases = [environment['FLIGHTLOG_EVENT_STORE'] ?? '', environment['FLIGHTLOG_READ_STORE'] ?? ''];
        // Of the hosts in a database URL, one reachable host is enough; a host in a command has to be reachable.
        for (const url of databases.filter((each) => each !== ''))
          expect(
            hostsIn(url).some((host) => reachable.has(host)),
            `${name}: ${url}`,
          ).toBe(true);
        for (const host of command.flatMap(hostsIn)) expect(reachable, `${name}: ${command.join(' ')}`).toContain(host);
      }
    },
  );

  it('publishes ports on 127.0.0.1 alone, and has services without ports in the internal network alone', () => {
    for (const [name, service] of services) {
      const { ports = [] } = service;
      for (const port of ports) expect(port, name).toMatch(/^127\.0\.0\.1:\d+:\d+$/u);
      const outside = Object.keys(networksOf(service)).filter((each) => each !== 'inside');
      expect(outside.length > 0, name).toBe(ports.length > 0);
    }
    expect(file.networks['inside']?.internal).toBe(true);
  });

  it('pins the version of every image, limits every service, and checks the health of each that serves calls', () => {
    for (const [name, service] of services) {
      const { image, deploy } = service;
      expect(image, name).toMatch(/:\d+\.\d+\.\d+(?:-[a-z]+)*$/u);
      expect(Object.keys(deploy?.resources?.limits ?? {}), name).toEqual(['cpus', 'memory']);
      expect(isWatched(service), name).toBe(servesCalls(service));
    }
  });

  it('gives the processes of flightlog settings that they accept', () => {
    expect(ours.length).toBeGreaterThan(6);
    for (const [name, service] of ours.filter(([, { command }]) => command?.[0] === 'serve'))
      expect(() => assertAllowed(settingsOf(service)), name).not.toThrow();
  });

  it('starts the processes of flightlog with existing flags', async () => {
    const used = new Map(ours.map(([, { command = [] }]) => [command[0] ?? '', new Set<string>()]));
    for (const [, { command = [] }] of ours)
      for (const flag of command.filter((each) => each.startsWith('--'))) used.get(command[0] ?? '')?.add(flag);
    for (const [command, flags] of used) {
      const { stdout, code } = await flightlog([command, '--help']).ended;
      expect(code, command).toBe(0);
      for (const flag of flags) expect(stdout).toContain(`${flag} `);
    }
  });

  it('has two API processes behind the load balancer, two projectors and a reactor', () => {
    const roles = (profile: string): readonly string[] =>
      servicesOf(file, [profile])
        .filter(([, { command }]) => command?.[0] === 'serve')
        .map(([, service]) => settingsOf(service).role.join());
    const expected = ['api', 'api', 'projector', 'projector', 'reactor'];
    expect([roles('single'), roles('cluster')]).toEqual([expected, expected]);
    const balanced = [...fileText('deployment/haproxy.cfg').matchAll(/^ *server (\S+) (\S+)/gmu)];
    const apis = services.filter(([, { command }]) => command?.join(' ') === 'serve --role api').map(([name]) => name);
    for (const port of [imageEnvironment['FLIGHTLOG_GRPC_PORT'], imageEnvironment['FLIGHTLOG_HTTP_PORT']])
      expect(balanced.filter(([, , to = '']) => to.endsWith(`:${port}`)).map(([, name]) => name)).toEqual(apis);
  });

  it('mounts only declared volumes and existing files', () => {
    for (const [name, { volumes = [] }] of services)
      for (const volume of volumes) expect(Object.keys(file.volumes), name).toContain(volume.split(':')[0]);
    for (const config of Object.values(file.configs)) expect(existsSync(join(CHECKOUT, config.file))).toBe(true);
  });

  it('has the version of Kafka that the tests run on, and flightlog in the version of this checkout', () => {
    const [, kafka] =
      /kafka_2\.13<\/artifactId>\s*<version>(.+)<\/version>/u.exec(fileText('test/services/kafka-pom.xml')) ?? [];
    expect(file.services['kafka']?.image).toBe(`apache/kafka:${kafka}`);
    const { version } = JSON.parse(fileText('package.json')) as { readonly version: string };
    for (const [, { image }] of ours) expect(image).toBe(`flightlog:${version}`);
  });
});
