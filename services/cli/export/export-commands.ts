import { type Command, Option } from 'commander';
import { durationOf, filter, names, oneOrMore, position } from '../arguments.js';
import type { ExportFilesFlags } from './files.js';
import type { ExportFlags } from './kafka.js';
import { TARGET_VALUES } from '../maintenance/object-target.js';
import type { DataCommands } from '../maintenance/payload-commands.js';

const EVENTS_PER_FILE = 65_536;
const MINUTE_MS = 60_000;

const addFiles = (exports: Command, { withData, ownSettings, configurationOf }: DataCommands): void => {
  withData(exports.command('files'))
    .description('write the events of the log to files for analysts; resumes where an earlier export has ended')
    .requiredOption('--to <target>', `${TARGET_VALUES}: empty, or with an earlier export of this log`)
    .addOption(new Option('--format <format>', 'format of the files').choices(['parquet', 'jsonl']).default('parquet'))
    .addOption(
      new Option('--partition-by <what>', 'a folder for each date of recording, in UTC, or none')
        .choices(['date', 'none'])
        .default('date'),
    )
    .option('--project <id>', 'only the events of one project', String)
    .option('--type <type,...>', 'only events of these types; repeatable', names)
    .option('--foreign <category...>', 'leave out categories of streams that other programs write to the log')
    .option('--events-per-file <n>', 'at most this many events in a file', oneOrMore, EVENTS_PER_FILE)
    .option('--follow', 'continue as events are recorded, until Ctrl-C', false)
    .addOption(
      new Option('--every <duration>', 'with --follow, write what is new this often')
        .argParser(durationOf)
        .default(MINUTE_MS, '1m'),
    )
    .addHelpText('after', ownSettings)
    .action(async (options: ExportFilesFlags) => {
      const { exportFiles } = await import('./files.js');
      await exportFiles(configurationOf(options), options);
    });
};

const withSelection = (command: Command, { withData, ownSettings }: DataCommands): Command =>
  withData(command)
    .option('--kafka <brokers>', 'HOST:PORT,… of Kafka')
    .option('--from <position>', 'from this position on (default: the first)', position)
    .option(
      '--to <position>',
      'up to this position (default: the last; for `reconcile` without --topic, the last that was published)',
      position,
    )
    .option('--filter <field=value>', 'category, type, stream or entity; all that are given have to match', filter, [])
    .addHelpText('after', ownSettings);

/** Adds the commands below `export` to the command line. */
export const addExportCommands = (program: Command, data: DataCommands): void => {
  const { configurationOf } = data;
  const exports = program.command('export').description('the log in files for analysts, and its export to Kafka');
  addFiles(exports, data);

  withSelection(exports.command('replay'), data)
    .description('publish events again, to another Kafka topic')
    .requiredOption('--topic <name>', 'created when it does not exist')
    .action(async (options: ExportFlags & { readonly topic: string }) => {
      const { exportReplay } = await import('./kafka.js');
      await exportReplay(configurationOf(options), options);
    });

  withSelection(exports.command('reconcile'), data)
    .description(
      'compare Kafka topics with the log: missing, doubled and reordered events; exit code 1 when there are any',
    )
    .option('--topic <name>', 'compare this topic instead of those that the log is published to')
    .action(async (options: ExportFlags) => {
      const { exportReconcile } = await import('./kafka.js');
      await exportReconcile(configurationOf(options), options);
    });
};
