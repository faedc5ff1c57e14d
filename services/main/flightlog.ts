import { Command, InvalidArgumentError } from 'commander';
import { Fault } from '../kernel/fault.js';
import { type Configuration, configure, type Given, InvalidConfiguration } from './configuration.js';
import type { EngineFlags } from './engine.js';
import type { LogCatFlags } from './log-cat.js';
import { CannotStart } from './ports.js';
import { allSettings, fromEnvironment, fromFile } from './sources.js';
import { version } from './version.js';

type Options = Readonly<Record<string, unknown>>;

const wholeNumber = (text: string): number => {
  if (!/^\d+$/u.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
};

const position = (text: string): bigint => {
  if (!/^\d+$/u.test(text)) throw new InvalidArgumentError('must be a position.');
  return BigInt(text);
};

const probability = (text: string): number => {
  const value = Number(text);
  if (text === '' || !(value >= 0 && value <= 1)) throw new InvalidArgumentError('must be between 0 and 1.');
  return value;
};

const choice =
  <Value extends string>(...values: Value[]) =>
  (text: string): Value => {
    const value = values.find((each) => each === text);
    if (value === undefined) throw new InvalidArgumentError(`must be ${values.join(' or ')}.`);
    return value;
  };

/** The flags that are settings: what they are called in the file. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  data: ['data'],
  grpcPort: ['grpc_port'],
  httpPort: ['http_port'],
  host: ['host'],
  logLevel: ['log_level'],
  insecure: ['insecure'],
  allowInsecureRemote: ['allow_insecure_remote'],
};

const fromFlags = (options: Options): readonly Given[] =>
  Object.entries(FLAGS).flatMap(([flag, path]) => {
    const value = options[flag];
    const origin = `--${flag.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === undefined ? [] : [{ path, value, origin }];
  });

const configurationOf = (options: Options, defaults: readonly Given[] = []): Configuration => {
  const file = typeof options['config'] === 'string' ? fromFile(options['config']) : [];
  return configure([...defaults, ...file, ...fromEnvironment(process.env), ...fromFlags(options)]);
};

const settingsHelp = `
Every setting can stand in the file of --config (YAML or JSON) or in the environment; flags win over the
environment, and the environment over the file:

${allSettings.map(({ path, variable, about }) => `  ${path.join('.').padEnd(34)}${variable.padEnd(44)}${about}`).join('\n')}
`;

const withData = (command: Command): Command =>
  command
    .option('--config <file>', 'settings in YAML or JSON')
    .option('--data <directory>', 'data directory (default ./data)');

const withServing = (command: Command, grpcPort: number, httpPort: number): Command =>
  withData(command)
    .option('--grpc-port <n>', `port of gRPC; 0 takes a free one (default ${grpcPort})`)
    .option('--http-port <n>', `port of REST; 0 takes a free one (default ${httpPort})`)
    .option('--host <address>', 'address to listen on (default 127.0.0.1)')
    .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent')
    .addHelpText('after', settingsHelp);

const program = new Command('flightlog')
  .description('Control plane of a workflow orchestration system whose only truth is an append-only log.')
  .version(version)
  .showHelpAfterError('(--help says more)');

const SANDBOX: readonly Given[] = [
  { path: ['insecure'], value: true, origin: 'sandbox' },
  { path: ['grpc_port'], value: 8081, origin: 'sandbox' },
  { path: ['http_port'], value: 8080, origin: 'sandbox' },
  { path: ['projects'], value: ['flytesnacks'], origin: 'sandbox' },
  { path: ['log_level'], value: 'warn', origin: 'sandbox' },
];

withServing(program.command('sandbox'), 8081, 8080)
  .description('serve with sample workflows and a simulated engine, without authentication')
  .option('--engine-rate <n>', 'events per second of the engine; 0 is as fast as it goes', wholeNumber, 50)
  .action(async (options: { readonly engineRate: number }) => {
    const { runSandbox } = await import('./sandbox.js');
    await runSandbox(configurationOf(options, SANDBOX), options);
  });

withServing(program.command('serve'), 81, 80)
  .description('serve the interface over gRPC and REST')
  .option('--insecure', 'without authentication')
  .option('--allow-insecure-remote', 'let --insecure listen on other addresses than loopback')
  .action(async (options: Options) => {
    const { serve } = await import('./serve.js');
    await serve(configurationOf(options));
  });

program
  .command('engine')
  .description('run executions as an engine would, without doing their work')
  .option('--endpoint <host:port>', 'gRPC address of the control plane', '127.0.0.1:8081')
  .option('--concurrency <n>', 'calls in flight', wholeNumber, 64)
  .option('--rate <n>', 'events per second; 0 is as fast as it goes', wholeNumber, 0)
  .option('--failure-probability <p>', 'chance that an attempt of a task fails, 0 to 1', probability, 0)
  .option('--seed <s>', 'one seed gives one run', 'flightlog')
  .option('--gates <auto|wait>', 'open gates at once, or wait for signals', choice('auto', 'wait'), 'auto')
  .option('--dynamic <directory>', 'compiled closures for dynamic nodes')
  .option('--until-idle', 'end when nothing is left to run', false)
  .option('--log-level <level>', 'trace, debug, info, warn, error, fatal or silent', 'info')
  .action(async (options: EngineFlags) => {
    const { engine } = await import('./engine.js');
    await engine(options);
  });

const views = program.command('views').description('what is folded from the log');
withData(views.command('rebuild'))
  .description('build all views from the log again, and verify them; the server must be stopped')
  .action(async (options: Options) => {
    const { rebuildViews } = await import('./views-rebuild.js');
    await rebuildViews(configurationOf(options));
  });

const log = program.command('log').description('the log itself');
withData(log.command('cat'))
  .description('print events, one JSON object a line; works while a server runs')
  .option('--stream <name>', 'of one stream only')
  .option('--execution <project/domain/name>', 'of one execution only')
  .option('--from <position>', 'from this position on', position, 0n)
  .option('--limit <n>', 'at most so many events', wholeNumber)
  .option('--follow', 'go on as events are recorded', false)
  .action(async (options: LogCatFlags) => {
    const { logCat } = await import('./log-cat.js');
    await logCat(configurationOf(options), options);
  });

try {
  await program.parseAsync();
} catch (error) {
  const isTold = error instanceof CannotStart || error instanceof InvalidConfiguration || error instanceof Fault;
  process.stderr.write(`flightlog: ${isTold ? error.message : ((error as Error).stack ?? String(error))}\n`);
  process.exit(1);
}
