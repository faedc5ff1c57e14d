import { type Command, Option } from 'commander';
import { executionPath, names, oneOrMore, pastTime, logPosition, wholeNumber } from '../arguments.js';
import type { LogCatFlags } from './cat.js';
import type { LogCopyFlags } from './copy.js';
import type { RenewFlags } from './identity.js';
import type { LogFormatFlags } from './format.js';
import type { DataCommands } from '../maintenance/payload-commands.js';

type Options = Readonly<Record<string, unknown>>;

const FORMAT_HELP = `
A release reads every format up to its newest. A new log has the newest format of the release that makes it; an older
log is written as before until it is switched, so that processes of both releases can use it during an upgrade. A
switch is not taken back. A log in a data directory is switched while the server is stopped, one in an event store
while servers run: they follow it.
`;

const addIdentityCommands = (log: Command, { withData, ownSettings, configurationOf }: DataCommands): void => {
  withData(log.command('renew-id'))
    .description('give a copied or restored log an identity of its own; the server must be stopped')
    .option(
      '--as-copy',
      'the original stays in use: until log take-over, no schedule fires here and no notification is sent',
      false,
    )
    .addHelpText('after', ownSettings)
    .action(async (options: RenewFlags) => {
      const { renewId } = await import('./identity.js');
      await renewId(configurationOf(options), options);
    });

  withData(log.command('take-over'))
    .description('let a copied or restored log fire schedules and send notifications; the server must be stopped')
    .addHelpText('after', ownSettings)
    .action(async (options: Options) => {
      const { takeOver } = await import('./identity.js');
      await takeOver(configurationOf(options));
    });
};

/** Adds the commands below `log` to the command line. */
export const addLogCommands = (program: Command, data: DataCommands): void => {
  const { withData, ownSettings, configurationOf } = data;
  const log = program.command('log').description('the log itself');
  withData(log.command('cat'))
    .description('print events, one JSON object a line; works while a server runs')
    .addOption(new Option('--stream <name>', 'of one stream only').conflicts('execution'))
    .option('--execution <project/domain/name>', 'of one execution only', executionPath)
    .option('--project <id>', 'of one project only', String)
    .option('--type <type,...>', 'of these types only; repeatable', names)
    .option(
      '--since <time>',
      'recorded at this time or later: 2026-03-02T09:58:16Z, or 15m for 15 minutes ago',
      pastTime,
    )
    .option('--from <position>', 'from this position on; end: only new events, with --follow', logPosition)
    .option('--tail <n>', 'only the last n events of those', wholeNumber)
    .option('--limit <n>', 'at most this many events', wholeNumber)
    .option('--follow', 'continue as events are recorded, until Ctrl-C', false)
    .addHelpText('after', ownSettings)
    .action(async (options: LogCatFlags) => {
      const { logCat } = await import('./cat.js');
      await logCat(configurationOf(options), options);
    });

  withData(log.command('format'))
    .description(
      'print the format that the log is written in, and the newest that this release writes; --to switches the log',
    )
    .option(
      '--to <format>',
      'write in this format from now on; first upgrade every process that uses the log',
      oneOrMore,
    )
    .addHelpText('after', FORMAT_HELP)
    .addHelpText('after', ownSettings)
    .action(async (options: LogFormatFlags) => {
      const { logFormat } = await import('./format.js');
      await logFormat(configurationOf(options), options);
    });

  addIdentityCommands(log, data);

  log
    .command('copy')
    .description('copy a log into another store and verify it; resumes where it was interrupted')
    .requiredOption('--from <source>', 'a data directory, or esdb://HOST:PORT')
    .requiredOption('--to <target>', 'a data directory, or esdb://HOST:PORT; it has nothing else in it')
    .action(async (flags: LogCopyFlags) => {
      const { copyLog } = await import('./copy.js');
      await copyLog(flags);
    });
};
