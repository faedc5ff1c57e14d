import { type Command, Option } from 'commander';
import { durationOf } from '../arguments.js';
import type { Configuration } from '../../config/configuration.js';
import type { GarbageFlags } from './payloads-gc.js';

/** The functions that commands with settings share; most of these commands work on a data directory. */
export type DataCommands = {
  /** Adds the flags for the locations of the data. */
  readonly withData: (command: Command) => Command;
  /** Gives the help text on the settings that a command has flags for. */
  readonly ownSettings: (context: { readonly command: Command }) => string;
  readonly configurationOf: (options: Readonly<Record<string, unknown>>) => Configuration;
};

/** The default age: 7 days, in milliseconds. */
const WEEK_MS = 7 * 24 * 3_600_000;

/** Adds `payloads gc` to the command line. */
export const addPayloadCommands = (
  program: Command,
  { withData, ownSettings, configurationOf }: DataCommands,
): void => {
  const payloads = program.command('payloads').description('contents that are too large for the log');
  withData(payloads.command('gc'))
    .description('remove payloads that no event names; works while servers run. Uploads of users are never touched')
    .addOption(
      new Option('--older-than <duration>', 'only payloads that were last stored this long ago; an hour or more')
        .argParser(durationOf)
        .default(WEEK_MS, '7d'),
    )
    .option('--dry-run', 'only count', false)
    .option(
      '--foreign <category...>',
      'categories of streams that other programs write to the log: their events are not searched for payloads; a category that is unknown and not named here is an error',
    )
    .addHelpText('after', ownSettings)
    .action(async (options: GarbageFlags) => {
      const { collectGarbage } = await import('./payloads-gc.js');
      await collectGarbage(configurationOf(options), options);
    });
};
