import { Argument, Command, Help, Option } from 'commander';
import { wholeNumber } from './arguments.js';
import { addBridgeCommand } from './bridge/command.js';
import { addBackupCommands } from './maintenance/backup-commands.js';
import { SHELLS, type Shell } from './completion/completions.js';
import { addClientCommands } from './client/client-commands.js';
import {
  type Configuration,
  configure,
  EVENTSTORE_FORMATS,
  EVENTSTORE_MODES,
  type GivenSetting,
  LOG_LEVELS,
} from '../config/configuration.js';
import type { EngineFlags } from './engine.js';
import { failureProbability, gates, withEngineFlags } from './engine-flags.js';
import { addExportCommands } from './export/export-commands.js';
import { openLogger } from '../main/logger.js';
import { addLogCommands } from './log/log-commands.js';
import { addPayloadCommands } from './maintenance/payload-commands.js';
import { addPrincipalCommands } from './principals/principal-commands.js';
import { ROLES } from '../config/roles.js';
import type { SandboxFlags } from './sandbox/sandbox.js';
import type { ServeFlags } from './serve.js';
import { settingsHelp, settingsOfFlags } from '../config/settings-help.js';
import { fileInEnvironment, fromEnvironment, fromFile, serviceLinks } from '../config/sources.js';
import { version } from '../main/version.js';

type Options = Readonly<Record<string, unknown>>;

/** The flags that set a setting, each with the path of the setting in the file. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  data: ['data'],
  payloadStore: ['payload_store'],
  eventStore: ['event_store'],
  readStore: ['read_store'],
  grpcPort: ['grpc_port'],
  httpPort: ['http_port'],
  eventstorePort: ['eventstore_port'],
  eventstoreMode: ['eventstore_mode'],
  eventstoreFormat: ['eventstore_format'],
  role: ['role'],
  kafka: ['kafka', 'brokers'],
  host: ['host'],
  logLevel: ['log_level'],
  tlsCert: ['tls', 'cert_file'],
  tlsKey: ['tls', 'key_file'],
  // The flags of `bridge` are explained in bridge/command.ts.
  endpoint: ['bridge', 'endpoint'],
  bridgeName: ['bridge', 'name'],
  namespaceTemplate: ['bridge', 'namespace_template'],
  producerId: ['bridge', 'producer_id'],
  capacity: ['bridge', 'capacity'],
  insecure: ['insecure'],
  allowInsecureRemote: ['allow_insecure_remote'],
};

const fromFlags = (options: Options): readonly GivenSetting[] =>
  Object.entries(FLAGS).flatMap(([flag, path]) => {
    const value = options[flag];
    const origin = `--${flag.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === undefined ? [] : [{ path, value, origin }];
  });

/**
 * Logs the `FLIGHTLOG_…` variables that Kubernetes sets for a Service `flightlog` or `flightlog-…`, such as
 * `FLIGHTLOG_PORT`: they look like settings but are none.
 */
const logIgnored = (level: string): void => {
  const variables = serviceLinks(process.env);
  if (variables.length === 0) return;
  openLogger(level).debug({ variables }, 'ignored: addresses of Services in Kubernetes, not settings');
};

/** Merges the settings: flags override the environment, which overrides the file, which overrides `defaults`. */
const configurationOf = (options: Options, defaults: readonly GivenSetting[] = []): Configuration => {
  const { config } = options;
  const file = fromFile(typeof config === 'string' ? config : fileInEnvironment(process.env));
  const configuration = configure([...defaults, ...file, ...fromEnvironment(process.env), ...fromFlags(options)]);
  logIgnored(configuration.log_level);
  return configuration;
};

/** The help text on the settings that a command has flags for, with their names in the file and the environment. */
const ownSettings = ({ command }: { readonly command: Command }): string =>
  settingsOfFlags(
    command.options.flatMap((option) => {
      const path = FLAGS[option.attributeName()];
      return path === undefined ? [] : [path];
    }),
  );

/** The defaults of the sandbox that differ from those of `serve`. The file, the environment and flags override them. */
const SANDBOX: readonly GivenSetting[] = [
  { path: ['insecure'], value: true, origin: 'sandbox' },
  { path: ['grpc_port'], value: 8081, origin: 'sandbox' },
  { path: ['http_port'], value: 8080, origin: 'sandbox' },
  { path: ['projects'], value: ['flytesnacks'], origin: 'sandbox' },
  { path: ['log_level'], value: 'warn', origin: 'sandbox' },
];

const withData = (command: Command): Command =>
  command
    .option('--config <file>', 'settings in YAML or JSON')
    .option('--data <directory>', 'data directory (default ./data)')
    .option('--event-store <url>', 'store of the log: embedded: (the data directory, default) or esdb://HOST:PORT')
    .option(
      '--payload-store <url>',
      'store of large event fields and uploads: file: (the data directory, default) or s3://BUCKET/PREFIX?endpoint=URL&region=NAME',
    );

const withViews = (command: Command): Command =>
  withData(command).option(
    '--read-store <url>',
    'store of the views: sqlite: (the data directory, default) or mongodb://HOST:PORT/DATABASE?replicaSet=NAME',
  );

type ServingDefaults = { readonly grpcPort: number; readonly httpPort: string; readonly logLevel: string };

const withServing = (command: Command, { grpcPort, httpPort, logLevel }: ServingDefaults): Command =>
  withViews(command)
    .option('--grpc-port <n>', `port of gRPC; 0 takes a free one (default ${grpcPort})`)
    .option('--http-port <n>', `port of REST; 0 takes a free one (default ${httpPort})`)
    .option(
      '--eventstore-port <n>',
      'port of the EventStoreDB protocol; 0 takes a free one (default 2113; not served when that is in use)',
    )
    .addOption(
      new Option('--eventstore-mode <mode>', 'what clients of that protocol may do (default read)').choices(
        EVENTSTORE_MODES,
      ),
    )
    .addOption(
      new Option('--eventstore-format <format>', 'how event data is presented to clients (default json)').choices(
        EVENTSTORE_FORMATS,
      ),
    )
    .option('--host <address>', 'address to listen on (default 127.0.0.1)')
    .option('--kafka <brokers>', 'HOST:PORT,… of Kafka, to publish the log to')
    .option('--log-level <level>', `one of ${LOG_LEVELS.join(', ')} (default ${logLevel})`)
    .option('--allow-insecure-remote', 'without authentication, listen on other addresses than loopback all the same');

/** The description of a flag in the help; it says `(required)` for a flag that a command needs. */
const optionDescription = (option: Option): string => {
  const text = new Help().optionDescription(option);
  return option.mandatory && option.defaultValue === undefined ? `${text} (required)` : text;
};

/** The command line, with all of its commands; a command loads its own code when it runs. */
export const program = new Command('flightlog')
  .configureHelp({ optionDescription })
  .description('Control plane of a workflow orchestration system whose only truth is an append-only log.')
  .version(version)
  .showHelpAfterError('(--help says more)');

withServing(program.command('sandbox'), { grpcPort: 8081, httpPort: '8080', logLevel: 'warn' })
  .description('serve with sample workflows and a simulated engine, without authentication unless --auth is given')
  .option('--auth', 'with authentication: prints a user and a password of this run')
  .option('--engine-rate <n>', 'most events per second of the engine; 0 is no limit', wholeNumber, 50)
  .addOption(failureProbability())
  .addOption(gates())
  .option('--poll', 'the engine polls lists instead of getting its work in a stream', false)
  .addHelpText('after', settingsHelp(SANDBOX))
  .action(async (options: SandboxFlags) => {
    const { runSandbox } = await import('./sandbox/sandbox.js');
    await runSandbox(configurationOf(options, SANDBOX), options);
  });

withServing(program.command('serve'), { grpcPort: 81, httpPort: '80, with TLS 443', logLevel: 'info' })
  .description('serve the interface over gRPC and REST; prints its addresses on standard output when it is ready')
  .option('--insecure', 'serve without authentication, on this machine')
  .option('--tls-cert <file>', 'certificate chain of all ports, in PEM')
  .option('--tls-key <file>', 'private key of the certificate, in PEM')
  .option(
    '--role <role...>',
    `roles of this process, repeatable or with commas: ${ROLES.join(', ')}; api, projector and reactor need --event-store; log is a log server (default all)`,
  )
  .option('--json', 'print the addresses in one line of JSON, as where standard output is not a terminal', false)
  .addHelpText('after', settingsHelp([]))
  .action(async (options: ServeFlags) => {
    const configuration = configurationOf(options);
    if (configuration.role.includes('log')) {
      const { serveLog } = await import('./log-server.js');
      await serveLog(configuration, options);
    } else {
      const { serve } = await import('./serve.js');
      await serve(configuration, options);
    }
  });

withEngineFlags(program.command('engine'))
  .description('run executions as an engine would, without doing their work')
  .action(async (options: EngineFlags) => {
    const { engine } = await import('./engine.js');
    await engine(options);
  });

const views = program.command('views').description('the views, which are projected from the log');
withViews(views.command('rebuild'))
  .description(
    'build all views from the log again, and verify them; stop the server first if its views are in its data directory (--read-store sqlite:)',
  )
  .addHelpText('after', ownSettings)
  .action(async (options: Options) => {
    const { rebuildViews } = await import('./maintenance/views-rebuild.js');
    await rebuildViews(configurationOf(options));
  });

addBridgeCommand(program, { ownSettings, configurationOf });
addPayloadCommands(program, { withData, ownSettings, configurationOf });
addBackupCommands(program, { withData, ownSettings, configurationOf });
addClientCommands(program, configurationOf);
addLogCommands(program, { withData, ownSettings, configurationOf });
addExportCommands(program, { withData, ownSettings, configurationOf });
addPrincipalCommands(program, { withData, ownSettings, configurationOf });

program
  .command('completion')
  .description('print a script that completes commands, flags and names in a shell')
  .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
  .addHelpText('after', '\nExamples:\n  source <(flightlog completion bash)')
  .action(async (shell: Shell) => {
    const { completionScript } = await import('./completion/completion.js');
    process.stdout.write(`${completionScript(shell, program)}\n`);
  });
