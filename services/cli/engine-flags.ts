import { type Command, Option } from 'commander';
import { hostAndPort, oneOrMore, probability, wholeNumber } from './arguments.js';
import { LOG_LEVELS } from '../config/configuration.js';

/** The flag for the share of attempts that a simulated engine lets fail. */
export const failureProbability = (): Option =>
  new Option('--failure-probability <p>', 'chance that an attempt of a task fails, 0 to 1')
    .argParser(probability)
    .default(0);

/** The flag for how a simulated engine handles gates. */
export const gates = (): Option =>
  new Option('--gates <how>', 'open gates at once, or wait for signals').choices(['auto', 'wait']).default('auto');

/** Adds the flags of the command that runs a simulated engine. */
export const withEngineFlags = (command: Command): Command =>
  command
    .option('--endpoint <host:port>', 'gRPC address of the control plane', hostAndPort, '127.0.0.1:8081')
    .option('--tls', 'connect with TLS', false)
    .option('--ca-file <file>', 'certificates to trust, in PEM, in place of those that Node.js trusts; implies --tls')
    .option('--token-file <file>', 'file with an access token, which is read again every 5 seconds')
    .option('--client-id <id>', 'get tokens as this client, with --client-secret-file')
    .option('--client-secret-file <file>', 'file with the secret of the client')
    .option('--token-url <url>', 'address that issues tokens (default: as the control plane says)')
    .option('--concurrency <n>', 'most calls in flight', oneOrMore, 64)
    .option('--rate <n>', 'most events per second; 0 is no limit', wholeNumber, 0)
    .addOption(failureProbability())
    .option('--seed <s>', 'the same seed gives the same run', 'flightlog')
    .addOption(gates())
    .option(
      '--dynamic <directory>',
      'compiled closures of dynamic tasks (default: those of the samples); a dynamic task without one runs its own template in two nodes',
    )
    .option(
      '--group <name>',
      'group of the engine: engines of one group take over the executions of each other',
      'default',
    )
    .option('--name <name>', 'name of the engine in its group (default: a random one)')
    .option('--poll', 'find work by polling lists instead of getting it in a stream', false)
    .option('--until-idle', 'end when nothing is left to run', false)
    .addOption(
      new Option('--log-level <level>', 'least severe level that is logged').choices(LOG_LEVELS).default('info'),
    );
