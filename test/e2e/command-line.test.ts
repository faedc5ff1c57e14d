import { mkdirSync, mkdtempSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { program } from '../../services/cli/program.js';
import { CHECKOUT, type Ended, flightlog, start } from '../support/processes/command.js';

const folder = mkdtempSync(join(tmpdir(), 'flightlog-command-'));
const data = join(folder, 'none');

afterAll(() => rmSync(folder, { recursive: true }));

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  flightlog(args, { env, cwd: folder }).ended;

const serve = (...args: readonly string[]): readonly string[] => ['serve', '--insecure', '--data', data, ...args];

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** Expects that the command fails with only these lines on standard error, and has created no data directory. */
const refuses = async (args: readonly string[], lines: readonly string[], env = {}): Promise<void> => {
  expect(await run(args, env)).toEqual({ code: 1, stdout: '', stderr: lines.map((line) => `${line}\n`).join('') });
  expect(existsSync(data)).toBe(false);
};

/** Commands whose help is tried; the empty one is the program itself. */
const COMMANDS = [
  ...['', 'sandbox', 'serve', 'engine', 'views', 'views rebuild', 'log', 'log cat', 'bridge', 'audit', 'completion'],
  ...['access', 'access grant', 'access list', 'schedule', 'schedule skip'],
  ...['list', 'get', 'watch', 'launch', 'terminate', 'relaunch', 'recover', 'signal'],
];

const CONNECTION = ['server', 'profile', 'token-file'];

/** All flags of some commands, without `--help`. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  sandbox: [
    'config',
    'data',
    'event-store',
    'payload-store',
    'read-store',
    'grpc-port',
    'http-port',
    'eventstore-port',
    'eventstore-mode',
    'eventstore-format',
    'host',
    'kafka',
    'log-level',
    'allow-insecure-remote',
    'auth',
    'engine-rate',
    'failure-probability',
    'gates',
    'poll',
  ],
  serve: [
    'config',
    'data',
    'event-store',
    'payload-store',
    'read-store',
    'grpc-port',
    'http-port',
    'eventstore-port',
    'eventstore-mode',
    'eventstore-format',
    'host',
    'kafka',
    'log-level',
    'allow-insecure-remote',
    'insecure',
    'tls-cert',
    'tls-key',
    'role',
    'json',
  ],
  engine: [
    ...['endpoint', 'tls', 'ca-file', 'token-file', 'client-id', 'client-secret-file', 'token-url'],
    ...['concurrency', 'rate', 'failure-probability', 'seed', 'gates', 'dynamic'],
    ...['group', 'name', 'poll', 'until-idle', 'log-level'],
  ],
  'list executions': [...CONNECTION, 'project', 'domain', 'output', 'filter', 'sort', 'limit', 'token'],
  'get execution': [...CONNECTION, 'project', 'domain', 'output', 'as-of', 'values', 'json'],
  'watch execution': [...CONNECTION, 'project', 'domain', 'output'],
  'launch workflow': [...CONNECTION, 'project', 'domain', 'output', 'name', 'wait', 'input', 'inputs', 'label'],
  'terminate execution': [...CONNECTION, 'project', 'domain', 'cause', 'yes'],
  'signal execution': [...CONNECTION, 'project', 'domain', 'output', 'value'],
  audit: [...CONNECTION, 'project', 'domain', 'actor', 'since', 'follow', 'json'],
  'views rebuild': ['config', 'data', 'event-store', 'payload-store', 'read-store'],
  'log copy': ['from', 'to'],
  'log renew-id': ['config', 'data', 'event-store', 'payload-store', 'as-copy'],
  'log take-over': ['config', 'data', 'event-store', 'payload-store'],
  'log cat': [
    'config',
    'data',
    'event-store',
    'payload-store',
    'stream',
    'execution',
    'project',
    'type',
    'since',
    'from',
    'tail',
    'limit',
    'follow',
  ],
};

/** The help of a command, as the program makes it in this process. */
const helpOf = (command: string): string => {
  const named = command.split(' ').filter(Boolean);
  const found = named.reduce((parent, name) => parent.commands.find((each) => each.name() === name)!, program);
  let text = '';
  found.configureOutput({ writeOut: (each) => (text += each) }).outputHelp();
  return text;
};

describe('the help', () => {
  it.each(['', 'serve', 'log cat', 'access grant'])('is printed for flightlog %s by a process', async (command) => {
    const ended = await run([...command.split(' ').filter(Boolean), '--help']);
    expect(ended).toEqual({ code: 0, stderr: '', stdout: helpOf(command) });
  });

  it.each(COMMANDS)('begins with the usage of flightlog %s', (command) => {
    expect(helpOf(command).startsWith(`Usage: ${`flightlog ${command}`.trim()} [`)).toBe(true);
  });

  it.each(Object.entries(FLAGS))('names every flag of flightlog %s', (command, flags) => {
    const named = [...helpOf(command).matchAll(/^ {2}(?:-[a-z], )?--([a-z-]+)/gmu)].map(([, flag]) => flag);
    expect(named).toEqual([...flags, 'help']);
  });

  it.each([
    ['log cat', ['data', 'event_store', 'payload_store']],
    ['log renew-id', ['data', 'event_store', 'payload_store']],
    ['payloads gc', ['data', 'event_store', 'payload_store']],
    ['views rebuild', ['data', 'event_store', 'payload_store', 'read_store']],
    ['export replay', ['data', 'event_store', 'payload_store', 'kafka.brokers']],
    ['export reconcile', ['data', 'event_store', 'payload_store', 'kafka.brokers']],
  ])('names the settings that flightlog %s reads, and no others', (command, settings) => {
    const help = helpOf(command);
    const named = [...help.matchAll(/^ {2}([a-z_.]+) +FLIGHTLOG_[A-Z_]+$/gmu)].map(([, setting]) => setting);
    expect(named).toEqual(settings);
    expect(help.match(/FLIGHTLOG_\w+/gu)).toHaveLength(settings.length + 1); // and FLIGHTLOG_CONFIG
  });

  it('names settings with their variables and defaults', () => {
    const help = helpOf('serve');
    expect(help).toMatch(/^ {2}grpc_port +FLIGHTLOG_GRPC_PORT +port of gRPC.* \(default 81\)$/mu);
    expect(help).toMatch(/^ {2}abort\.timeout +FLIGHTLOG_ABORT_TIMEOUT .* \(default 10m\)$/mu);
    // The longest names are separated from the next column, too.
    expect(help).toMatch(
      /^ {2}registration\.max_annotation_entries +FLIGHTLOG_REGISTRATION_MAX_ANNOTATION_ENTRIES +annotations that/mu,
    );
    expect(helpOf('sandbox')).toMatch(/FLIGHTLOG_GRPC_PORT .* \(default 8081\)$/mu);
  });

  it('is printed to stderr when no command is given', async () => {
    const { code, stdout, stderr } = await run([]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Usage: flightlog/u);
  });

  it('is pointed to after a flag or command that does not exist', async () => {
    await refuses(serve('--tls', '1'), [`error: unknown option '--tls'`, '(--help says more)']);
    await refuses(['start'], [`error: unknown command 'start'`, '(--help says more)']);
  });
});

describe('an invalid configuration ends the program with a line for each fault, and nothing is written', () => {
  it('from flags', () =>
    refuses(serve('--grpc-port', '99999', '--log-level', 'loud', '--payload-store', 's3://X'), [
      'flightlog: payload_store (from --payload-store): has no valid bucket: s3://BUCKET/PREFIX',
      'flightlog: grpc_port (from --grpc-port): must be a port, 0 to 65535',
      'flightlog: log_level (from --log-level): must be one of trace, debug, info, warn, error, fatal, silent',
    ]));

  it('from the environment', () =>
    refuses(
      serve(),
      [
        'flightlog: grpc_port (from FLIGHTLOG_GRPC_PORT): must be a port, 0 to 65535',
        'flightlog: projects (from FLIGHTLOG_PROJECTS): must be a list, such as [one, two]',
        'flightlog: abort.timeout (from FLIGHTLOG_ABORT_TIMEOUT): must be a duration such as 90s, 10m or 1h30m, not "soon"',
      ],
      { FLIGHTLOG_GRPC_PORT: '-1', FLIGHTLOG_PROJECTS: 'one', FLIGHTLOG_ABORT_TIMEOUT: 'soon' },
    ));

  it('from roles that are unknown or cannot be combined, separated by spaces or commas', async () => {
    const all = ['flightlog: role (from --role): all and log cannot be combined with other roles'];
    await refuses(serve('--role', 'api,log'), all);
    await refuses(serve('--role', 'api', 'log'), all);
    await refuses(serve('--role', 'api', '--role', 'log'), all);
    await refuses(serve(), ['flightlog: role (from FLIGHTLOG_ROLE): all and log cannot be combined with other roles'], {
      FLIGHTLOG_ROLE: 'api, log',
    });
    await refuses(serve('--role', 'api,boss'), [
      'flightlog: role.1 (from --role): must be one of all, api, projector, reactor, log, not "boss"',
    ]);
    await refuses(serve('--role', 'projector,reactor'), [
      `flightlog: role (from --role): an embedded log can be used by one process only: name an event store with event_store (--event-store esdb://HOST:PORT)`,
    ]);
  });

  it('from a variable that is no setting, or no YAML', async () => {
    await refuses(serve(), ['flightlog: FLIGHTLOG_PORT: is not a setting'], { FLIGHTLOG_PORT: '1' });
    await refuses(serve(), ['flightlog: FLIGHTLOG_DOMAINS: Flow sequence must end with a ] at line 1, column 3'], {
      FLIGHTLOG_DOMAINS: '[a',
    });
  });

  it('from a file, named by a flag or a variable', async () => {
    const wrong = file('wrong.yaml', 'host: ""\nabort: { timeout: 5 }\nprojects: [1]\nregistration: { nodes: 1 }\n');
    const lines = [
      `flightlog: host (from ${wrong}): must not be empty`,
      `flightlog: projects.0 (from ${wrong}): must be an id, or a mapping of id, name and description`,
      `flightlog: abort.timeout (from ${wrong}): must be a duration such as 90s, 10m or 1h30m`,
      `flightlog: registration.nodes (from ${wrong}): is not a setting`,
    ];
    await refuses(serve('--config', wrong), lines);
    await refuses(serve(), lines, { FLIGHTLOG_CONFIG: wrong });
  });

  it('from a file whose values cannot be used', async () => {
    const text = 'domains: [one, one]\nprojects: [Bad_Id]\ntask_resources: { limits: { cpu: lots } }\n';
    const useless = file('useless.yaml', text);
    await refuses(serve('--config', useless), [
      `flightlog: domains (from ${useless}): must not have one domain twice`,
      `flightlog: projects.0.id (from ${useless}): must be at most 63 lower-case letters, digits and '-', which neither begins nor ends it`,
      `flightlog: task_resources.limits.cpu (from ${useless}): must be a quantity such as 500m or 1Gi`,
    ]);
  });

  it('from a file that does not exist, is no YAML, or is no mapping', async () => {
    const list = file('list.yaml', '- 1\n');
    const half = file('half.yaml', 'a: [\n');
    await refuses(serve('--config', list), [`flightlog: ${list}: is not a mapping of settings`]);
    await refuses(serve('--config', half), [
      `flightlog: ${half}: Flow sequence in block collection must be sufficiently indented and end with a ] at line 2, column 1`,
    ]);
    await refuses(serve('--config', '/none.yaml'), [
      `flightlog: /none.yaml: ENOENT: no such file or directory, open '/none.yaml'`,
    ]);
  });
});

describe('the variables that Kubernetes sets for a Service named flightlog', () => {
  const links = { FLIGHTLOG_SERVICE_HOST: '10.0.0.11', FLIGHTLOG_PORT: 'tcp://10.0.0.11:8081' };
  /** The number of the log level `debug`. */
  const DEBUG = 20;
  // The command ends when the settings are checked, because they name no issuer.
  const starting = ['serve', '--data', data];
  const noIssuer = /^flightlog: no issuer of tokens is configured/mu;

  it('are ignored, and logged at debug level', async () => {
    const { stderr } = await run([...starting, '--log-level', 'debug'], links);
    const [line = '', ...rest] = stderr.trimEnd().split('\n');
    expect(JSON.parse(line)).toMatchObject({ level: DEBUG, variables: Object.keys(links) });
    expect(rest.join('\n')).toMatch(noIssuer);
    expect((await run(starting, links)).stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(noIssuer)]);
  });
});

describe('a server that must not or cannot listen ends with the reason, and nothing is written', () => {
  it('without authentication, unless --insecure says so', () =>
    refuses(
      ['serve', '--data', data],
      [
        'flightlog: no issuer of tokens is configured: name one in auth.issuers, let this server issue them with auth.server.enabled, or start with --insecure to serve without authentication, on this machine',
      ],
    ));

  it.each(['serve', 'sandbox'])('without authentication, for other machines: %s', (command) =>
    refuses(
      [command, ...(command === 'serve' ? ['--insecure'] : []), '--data', data, '--host', '0.0.0.0'],
      [
        'flightlog: without authentication, 0.0.0.0 accepts calls from every client: listen on 127.0.0.1 (--host), or add --allow-insecure-remote if that is intended',
      ],
    ),
  );

  it('on a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const line = `port 127.0.0.1:${port} is in use`;
    await refuses(serve('--grpc-port', String(port), '--http-port', '0'), [`flightlog: gRPC ${line}`]);
    await refuses(serve('--http-port', String(port), '--grpc-port', '0'), [`flightlog: REST ${line}`]);
    other.close();
  });

  it('on one port for both transports', () =>
    refuses(serve('--grpc-port', '7001', '--http-port', '7001'), [
      'flightlog: http_port (from --http-port): must not be the port of gRPC too',
    ]));

  it('on an address that the machine does not have', () =>
    refuses(serve('--host', '192.0.2.1', '--allow-insecure-remote', '--grpc-port', '0', '--http-port', '0'), [
      'flightlog: gRPC port 192.0.2.1:0 is on an address that no interface of this machine has',
    ]));
});

describe('a log or data directory that does not exist or cannot be used', () => {
  it('ends `log cat` and `views rebuild`, where there is no log', async () => {
    const line = `flightlog: data: log ${join(data, 'log.db')} cannot be used: it is not there`;
    await refuses(['log', 'cat', '--data', data], [line]);
    await refuses(['views', 'rebuild', '--data', data], [line]);
  });

  it('ends `serve`, where the data directory is a file', async () => {
    const path = file('a-file', '');
    const { code, stderr } = await run(['serve', '--insecure', '--grpc-port', '0', '--http-port', '0', '--data', path]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `flightlog: data: data directory ${path} cannot be used: it is a file\n`,
    });
  });

  it('ends `serve`, where the log is damaged, before views are made', async () => {
    const directory = join(folder, 'damaged');
    mkdirSync(directory);
    writeFileSync(join(directory, 'log.db'), 'no log at all '.repeat(1_000));
    const args = ['--insecure', '--grpc-port', '0', '--http-port', '0', '--data', directory];
    const { code, stderr } = await run(['serve', ...args]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^flightlog: data: log .*log\.db cannot be used: it is damaged \(file is not a database\).*\n$/u,
    );
    expect(readdirSync(directory)).not.toContain('views.db');
  });
});

describe('a version of Node', () => {
  const startOn = (version: string, args: readonly string[]) => {
    const script = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
    return start(process.execPath, ['--import', `data:text/javascript,${script}`, `${CHECKOUT}/flightlog.js`, ...args]);
  };

  it.each(['18.20.8', '20.18.3', '21.7.3', '22.12.0', '23.11.1'])(
    'that is not supported is reported in one line, and nothing is written: %s',
    async (version) => {
      expect(await startOn(version, serve()).ended).toEqual({
        code: 1,
        stdout: '',
        stderr: `flightlog needs Node 20.19 or a later 20, 22.13 or a later 22, or 24 and later; this is ${version}\n`,
      });
      expect(existsSync(data)).toBe(false);
    },
  );

  it.each(['20.19.0', '22.13.0', '24.0.0', '25.1.0'])('that is supported runs the program: %s', async (version) => {
    expect(await startOn(version, ['--version']).ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('output', () => {
  const inShell = (command: string): Promise<Ended> => start('sh', ['-c', command], { cwd: folder }).ended;
  const completion = `node '${CHECKOUT}/flightlog.js' completion bash`;

  it('whose reader leaves before the first byte is no error', async () => {
    expect((await inShell(`{ ${completion}; echo $? >&2; } | true`)).stderr).toBe('0\n');
  });

  it.skipIf(!existsSync('/dev/full'))(
    'that cannot be written, as to a full disk, is an error in one line',
    async () => {
      const { code, stderr } = await inShell(`${completion} > /dev/full`);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^flightlog: standard output cannot be written: ENOSPC[^\n]*\n$/u);
    },
  );
});

describe('flags in a wrong form or combination are refused', () => {
  const wrong: readonly (readonly [string, string])[] = [
    [
      'log cat --from x',
      `error: option '--from <position>' argument 'x' is invalid. It must be a position, a whole number, or end.`,
    ],
    ['log cat --limit -1', `error: option '--limit <n>' argument '-1' is invalid. It must be a whole number.`],
    [
      'log cat --execution a/b',
      `error: option '--execution <project/domain/name>' argument 'a/b' is invalid. It must be PROJECT/DOMAIN/NAME.`,
    ],
    [
      'log cat --stream a-b --execution a/b/c',
      `error: option '--stream <name>' cannot be used with option '--execution <project/domain/name>'`,
    ],
    [
      'engine --endpoint here',
      `error: option '--endpoint <host:port>' argument 'here' is invalid. It must be HOST:PORT.`,
    ],
    ['engine --rate fast', `error: option '--rate <n>' argument 'fast' is invalid. It must be a whole number.`],
    [
      'engine --failure-probability 2',
      `error: option '--failure-probability <p>' argument '2' is invalid. It must be between 0 and 1.`,
    ],
    [
      'engine --gates open',
      `error: option '--gates <how>' argument 'open' is invalid. Allowed choices are auto, wait.`,
    ],
    [
      'sandbox --engine-rate x',
      `error: option '--engine-rate <n>' argument 'x' is invalid. It must be a whole number.`,
    ],
  ];

  it.each(wrong)('%s', (args, line) => refuses(args.split(' '), [line, '(--help says more)']));
});
